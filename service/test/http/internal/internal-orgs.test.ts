/** The internal API's writes of organisations: what they change, what they refuse, what they tell, and to whom a slug goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindApp } from '../../../src/access/bindings.ts';
import { sql } from '../../../src/database/database.ts';
import { OrgInput } from '../../../src/directory/inputs.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { recordedEvents } from '../../support/queue.ts';
import { samplesOf } from '../../support/sample.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const service = await startTestService();
const internal = await startInternalApi(service);
const { database } = service;
const { call } = internal;

const putOrg = (slug: string, json: object, headers: Record<string, string> = {}) =>
  call(`/orgs/${slug}`, { method: 'PUT', json, headers });
const patchOrg = (slug: string, json: object, headers: Record<string, string> = {}) =>
  call(`/orgs/${slug}`, { method: 'PATCH', json, headers });
const remove = (path: string, headers: Record<string, string> = {}) =>
  call(path, { method: 'DELETE', headers });

/** The slugs that were announced, in order. */
async function announced(name = 'org.created'): Promise<string[]> {
  const { rows } = await sql<{ data: string }>`
    select data from ${recordedEvents} where name = ${name} order by id
  `.execute(database);
  return rows.map(({ data }) => (JSON.parse(data) as { slug: string }).slug);
}

async function changes(): Promise<number> {
  const { rows } = await sql<{ sum: number }>`
    select sum(revision)::int8 as sum from revisions
  `.execute(database);
  return rows[0]?.sum ?? 0;
}

const { slug: _slug, ...inputs } = OrgInput.properties;
const everything = {
  ...samplesOf(inputs, 1),
  links: {
    website: 'https://example.org',
    chat: 'https://chat.example.org',
    video: null,
    social: null,
  },
  alliance: 'north',
  managers: ['ada@example.org', 'bob@example.org'],
};

await put(database, 'alliances', [
  { slug: 'north', name: 'North' },
  { slug: 'south', name: 'South' },
]);

test('an organisation is created, read with its private fields, and shown publicly without them', async () => {
  const { alliance, ...fields } = everything;
  const made = await putOrg('acme', everything);
  assert.equal(made.status, 201);
  const { id, slug, url, createdAt, updatedAt, alliance: shown, ...data } = made.body.data;
  assert.deepEqual(data, fields);
  assert.deepEqual(
    [slug, shown.slug, url],
    ['acme', alliance, 'http://directory.localhost/api/v1/orgs/acme'],
  );
  assert.ok(id && createdAt === updatedAt);
  const read = await call('/orgs/acme');
  assert.deepEqual(read.body, made.body);
  assert.equal(read.headers.get('etag'), made.headers.get('etag'));
  await service.settled();
  const { body } = await service.call('/orgs/acme');
  for (const name of ['listed', 'contactEmail', 'chatServerId', 'notes', 'managers'])
    assert.ok(!(name in body.data), name);
});

test('PUT replaces all fields, and keeps id, managers and aliases', async () => {
  const before = (await putOrg('again', everything)).body.data;
  const fresh = (await putOrg('fresh', { name: 'Again' })).body.data;
  const { status, body } = await putOrg('again', { name: 'Again', slug: 'again' });
  assert.equal(status, 200);
  const { id, slug, url, managers, aliases, createdAt } = before;
  const { updatedAt } = body.data;
  assert.deepEqual(body.data, { ...fresh, id, slug, url, managers, aliases, createdAt, updatedAt });
});

test('PATCH changes only the given fields, also within links', async () => {
  const before = (await putOrg('patched', everything)).body.data;
  for (const change of [
    { memberCount: 43 },
    { notes: null },
    { alliance: 'south' },
    { alliance: null },
    { listed: false },
    { managers: ['bob@example.org', ' EVE@example.org '] },
  ]) {
    const [[name, value] = ['', null]] = Object.entries(change);
    const { status, body } = await patchOrg('patched', change);
    assert.equal(status, 200);
    const written = body.data[name];
    if (name === 'alliance') assert.equal(written?.slug ?? null, value);
    else if (name === 'managers') assert.deepEqual(written, ['bob@example.org', 'eve@example.org']);
    else assert.equal(written, value);
    before[name] = written;
    before.updatedAt = body.data.updatedAt;
    assert.deepEqual(body.data, before);
  }
  const { body } = await patchOrg('patched', {
    links: { chat: null, video: 'https://video.example' },
  });
  assert.deepEqual(body.data.links, {
    website: 'https://example.org',
    chat: null,
    video: 'https://video.example',
    social: null,
  });
});

test('a write that contradicts the schema, the directory or the URL is rejected and changes nothing', async () => {
  await putOrg('kept', { name: 'Kept' });
  const before = await changes();
  for (const [answer, status, path] of [
    [await putOrg('kept', {}), 400, 'body.name'],
    [await putOrg('kept', { name: 'X', colour: 'red' }), 400, 'body.colour'],
    [await putOrg('kept', { name: 'X', memberCount: '7' }), 400, 'body.memberCount'],
    [await putOrg('kept', { name: 'X', alliance: 'nowhere' }), 400, 'body.alliance'],
    [await putOrg('kept', { name: 'X', slug: 'other' }), 400, 'body.slug'],
    [await putOrg('kept', { name: 'X', managers: ['nobody'] }), 400, 'body.managers.0'],
    [await putOrg('search', { name: 'Reserved' }), 400, 'params.slug'],
    [await patchOrg('kept', {}), 400, 'body'],
    [await patchOrg('kept', { slug: 'bulk' }), 400, 'body.slug'],
    [await patchOrg('kept', { slug: 'Upper' }), 400, 'body.slug'],
    [await patchOrg('kept', { id: 'x' }), 400, 'body.id'],
    [await patchOrg('kept', { name: null }), 400, 'body.name'],
    [await patchOrg('nowhere', { name: 'X' }), 404, undefined],
    [await putOrg('Upper', { name: 'X' }), 404, undefined],
    [await remove('/orgs/nowhere'), 404, undefined],
  ] as const) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.body.error.details.issues?.[0].path, path);
  }
  assert.equal(await changes(), before);
});

test('an organisation is announced when it is first listed, and never again', async () => {
  const since = (await announced()).length;
  const news = async () => (await announced()).slice(since);
  await putOrg('shown', { name: 'Shown' });
  assert.deepEqual(await news(), ['shown']);
  await putOrg('shy', { name: 'Shy', listed: false });
  await patchOrg('shy', { memberCount: 3 });
  assert.deepEqual(await news(), ['shown']);
  await patchOrg('shy', { listed: true });
  assert.deepEqual(await news(), ['shown', 'shy']);
  for (const listed of [false, true, false]) await patchOrg('shy', { listed });
  await putOrg('shy', { name: 'Shy' });
  await putOrg('shown', { name: 'Shown', listed: false });
  await put(
    database,
    'orgs',
    [
      { slug: 'shown', name: 'Shown' },
      { slug: 'shy', name: 'Shy' },
    ],
    { emitEvents: true },
  );
  assert.deepEqual(await news(), ['shown', 'shy']);
});

test('an organisation that was imported without events is not announced when listed again', async () => {
  await put(database, 'orgs', [{ slug: 'quiet', name: 'Quiet' }]);
  await patchOrg('quiet', { listed: false });
  await patchOrg('quiet', { listed: true });
  await put(database, 'orgs', [{ slug: 'later', name: 'Later', listed: false }]);
  await patchOrg('later', { listed: true });
  const all = await announced();
  assert.deepEqual([all.includes('quiet'), all.includes('later')], [false, true]);
});

test('a write with an outdated If-Match is rejected', async () => {
  const etag = (await putOrg('versioned', { name: 'One' })).headers.get('etag') ?? '';
  const second = await patchOrg('versioned', { name: 'Two' }, { 'if-match': etag });
  assert.equal(second.status, 200);
  assert.notEqual(second.headers.get('etag'), etag);
  const before = await changes();
  for (const answer of [
    await patchOrg('versioned', { name: 'Three' }, { 'if-match': etag }),
    await putOrg('versioned', { name: 'Three' }, { 'if-match': etag }),
    await remove('/orgs/versioned', { 'if-match': etag }),
    await putOrg('versioned', { name: 'Three' }, { 'if-match': `W/${second.headers.get('etag')}` }),
    await putOrg('versioned', { name: 'Three' }, { 'if-match': 'nonsense' }),
    await putOrg('versioned', { name: 'Three' }, { 'if-none-match': '*' }),
    await putOrg('unversioned', { name: 'Three' }, { 'if-match': '*' }),
  ]) {
    assert.equal(answer.status, 412, answer.text);
    assert.equal(answer.body.error.code, 'precondition_failed');
  }
  assert.equal(await changes(), before);
  const current = (await call('/orgs/versioned')).headers.get('etag') ?? '';
  assert.equal(
    (await patchOrg('versioned', { tag: 'V' }, { 'if-match': `"x", ${current}` })).status,
    200,
  );
  assert.equal((await remove('/orgs/versioned', { 'if-match': '*' })).status, 200);
  assert.equal((await putOrg('versioned', { name: 'New' }, { 'if-none-match': '*' })).status, 201);
});

test('a private field changes only the internal ETag, not the public one or updatedAt', async () => {
  const made = await putOrg('private', { name: 'Private' });
  await service.settled();
  const seen = await service.call('/orgs/private');
  const patched = await patchOrg('private', { notes: 'Secret.' });
  assert.notEqual(patched.headers.get('etag'), made.headers.get('etag'));
  assert.equal(patched.body.data.updatedAt, made.body.data.updatedAt);
  await service.settled();
  assert.equal((await service.call('/orgs/private')).headers.get('etag'), seen.headers.get('etag'));
});

test('a new slug renames: the old URL is 404, and the old slug stays reserved for 30 days', async () => {
  const { id } = (await putOrg('old-name', { name: 'Old name' })).body.data;
  const renamed = await patchOrg('old-name', { slug: 'new-name' });
  assert.deepEqual(
    [renamed.status, renamed.body.data.slug, renamed.body.data.id],
    [200, 'new-name', id],
  );
  assert.equal((await call('/orgs/old-name')).status, 404);
  await service.settled();
  assert.equal((await service.call('/orgs/old-name')).status, 404);
  assert.equal((await service.call('/orgs/new-name')).status, 200);
  assert.equal((await service.call('/orgs?search=new-name')).body.pagination.total, 1);

  const refused = await putOrg('old-name', { name: 'Impostor' });
  assert.equal(refused.status, 409);
  assert.ok(Date.parse(refused.body.error.details.freeAt) > Date.now() + 29 * 86_400_000);
  await putOrg('other', { name: 'Other' });
  assert.equal((await patchOrg('other', { slug: 'old-name' })).status, 409);
  assert.equal((await patchOrg('other', { slug: 'new-name' })).status, 409);
  await assert.rejects(
    put(database, 'orgs', [{ slug: 'old-name', name: 'Impostor' }]),
    /1 bad lines/,
  );
  await put(database, 'orgs', [{ name: 'Old Name' }]);
  assert.equal(
    (await call('/orgs/old-name-2')).status,
    200,
    'made from the name, past the one that is kept',
  );

  const back = await patchOrg('new-name', { slug: 'old-name' });
  assert.deepEqual([back.status, back.body.data.id], [200, id]);
  assert.equal((await patchOrg('other', { slug: 'new-name' })).status, 409, 'it is kept in turn');
  await sql`update former_slugs set left_at = now() - interval '30 days'`.execute(database);
  assert.equal((await patchOrg('other', { slug: 'new-name' })).status, 200);
});

test('the slug of a deleted entry is free, but its former slugs stay reserved', async () => {
  await putOrg('first', { name: 'First' });
  await patchOrg('first', { slug: 'second' });
  const gone = await remove('/orgs/second');
  assert.deepEqual([gone.status, gone.body.data.deleted], [200, true]);
  assert.equal((await call('/orgs/second')).status, 404);
  assert.equal((await putOrg('second', { name: 'Another' })).status, 201);
  assert.equal((await putOrg('first', { name: 'Another' })).status, 409);
});

test('deleting an organisation ends its managers, bindings and counts', async () => {
  const { id } = (await putOrg('doomed', { ...everything, memberCount: 7, managers: [] })).body
    .data;
  const counts = async () => {
    const { orgCount, memberCount } = (await call('/alliances/north')).body.data;
    return [orgCount, memberCount];
  };
  const [orgs, members] = await counts();
  const subject = { kind: 'organization', id } as const;
  const { appId } = await makeKey(service, { bindTo: subject });
  assert.equal((await remove('/orgs/doomed')).status, 200);
  assert.deepEqual(await counts(), [orgs - 1, members - 7]);
  const { rows } = await sql`
    select from bindings where app_id = ${appId} union all select from org_managers where org_id = ${id}
  `.execute(database);
  assert.equal(rows.length, 0);
  // What fan-out and every claim ask: what waits for it is cancelled.
  for (const audience of ['global', 'organization']) {
    const { rows: asked } = await sql<{ may: boolean }>`
      select app_may_receive(${audience}, ${id}, null, now(), ${appId}) as may
    `.execute(database);
    assert.equal(asked[0]?.may, false, audience);
  }
  assert.equal((await putOrg('doomed', { name: 'Reborn' })).status, 201);
  await assert.rejects(
    database.transaction().execute((tx) => bindApp(tx, testActor, appId, subject)),
    /who manage the organisation can bind it/,
  );
});

test('internal lists include unlisted organisations, with the filters of the public ones', async () => {
  await putOrg('findable', { name: 'Fïndable one', listed: false, primaryActivity: 'hiding' });
  await putOrg('findable-2', { name: 'Findable two', primaryActivity: 'hiding' });
  const slugs = async (query: string) => {
    const { status, body } = await call(`/orgs?${query}`);
    assert.equal(status, 200);
    assert.equal(body.pagination.total, body.data.length);
    return body.data.map(({ slug }: { slug: string }) => slug);
  };
  assert.deepEqual(await slugs('search=findable'), ['findable', 'findable-2']);
  assert.deepEqual(await slugs('search=findable&listed=false'), ['findable']);
  assert.deepEqual(await slugs('search=findable&listed=true'), ['findable-2']);
  assert.deepEqual(await slugs('activity=hiding&sort=-name'), ['findable-2', 'findable']);
  const total = async (query: string) =>
    (await call(`/orgs?limit=1${query}`)).body.pagination.total;
  const [all, listed, hidden] = [
    await total(''),
    await total('&listed=true'),
    await total('&listed=false'),
  ];
  assert.equal(all, listed + hidden);
  assert.ok(hidden > 0);
  assert.equal((await call('/orgs?listed=maybe')).status, 400);
});

test('concurrent PUTs of a new organisation create and announce one', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => putOrg('raced', { name: `Raced ${index}` })),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array.from({ length: 7 }, () => 200), 201]);
  assert.equal((await announced()).filter((slug) => slug === 'raced').length, 1);
});

test('of concurrent conditional writes, one succeeds', async () => {
  const etag = (await putOrg('contended', { name: 'Contended' })).headers.get('etag') ?? '';
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      patchOrg('contended', { memberCount: index + 1 }, { 'if-match': etag }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412]);
});

test('of concurrent writes with one slug, one succeeds', async () => {
  const rivals = ['rival-a', 'rival-b', 'rival-c'];
  for (const slug of rivals) await putOrg(slug, { name: slug });
  const answers = await Promise.all([
    ...rivals.map((slug) => patchOrg(slug, { slug: 'prize' })),
    putOrg('prize', { name: 'Prize' }, { 'if-none-match': '*' }),
  ]);
  const won = answers.filter(({ status }) => status < 300);
  assert.equal(won.length, 1, answers.map(({ text }) => text).join('\n'));
  for (const { status } of answers) assert.ok([200, 201, 409, 412].includes(status), `${status}`);
});

test('concurrent writes, renames, deletions, bindings and imports fail only with documented errors', async () => {
  await putOrg('busy', { name: 'Busy', alliance: 'north' });
  const { appId, owner } = await makeKey(service);
  const bind = async () => {
    const { body, status } = await call('/orgs/busy');
    if (status !== 200) return;
    const subject = { kind: 'organization', id: body.data.id } as const;
    await database
      .transaction()
      .execute((tx) => bindApp(tx, testActor, appId, subject))
      .catch((error: { code?: string }) =>
        assert.match(error.code ?? '', /^(forbidden|conflict)$/),
      );
  };
  const turns: (() => Promise<{ status: number } | void>)[] = [
    () => putOrg('busy', { name: 'Busy', alliance: 'south' }),
    () => putOrg('busy', { name: 'Busy', alliance: 'north', managers: [owner] }),
    () => patchOrg('busy', { slug: 'busy-2' }),
    () => patchOrg('busy-2', { slug: 'busy' }),
    () => remove('/orgs/busy'),
    () => call('/alliances/north', { method: 'PATCH', json: { orgs: ['acme'] } }),
    () => call('/orgs/busy/managers', { method: 'PUT', json: { managers: [owner] } }),
    bind,
    async () => {
      await put(database, 'orgs', [
        { slug: 'acme', name: 'Acme', alliance: 'north' },
        { slug: 'imported', name: 'Imported', alliance: 'south' },
      ]);
    },
  ];
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(turns.map((turn) => turn()));
    for (const answer of answers)
      if (answer) assert.ok([200, 201, 400, 404, 409].includes(answer.status), `${answer.status}`);
  }
});
