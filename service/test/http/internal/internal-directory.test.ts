/** Writes of alliances, members, managers and blueprints by the internal API. See internal-orgs.test.ts for organisations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { blueprint, put } from '../../support/directory.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { recordedEvents } from '../../support/queue.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const service = await startTestService();
const { call } = await startInternalApi(service);
const { database } = service;

const send = (method: string, path: string, json: object, headers: Record<string, string> = {}) =>
  call(path, { method, json, headers });

async function changes(): Promise<number> {
  const { rows } = await sql<{ sum: number }>`
    select sum(revision)::int8 as sum from revisions
  `.execute(database);
  return rows[0]?.sum ?? 0;
}

const slugsOf = (entries: { slug: string }[]) => entries.map(({ slug }) => slug);

await put(database, 'orgs', [
  { slug: 'a', name: 'A', memberCount: 1 },
  { slug: 'b', name: 'B', memberCount: 10 },
  { slug: 'hidden', name: 'Hidden', memberCount: 100, listed: false },
]);

test('an alliance is created with its members', async () => {
  const made = await send('PUT', '/alliances/league', {
    name: 'League',
    orgs: ['hidden', 'b', 'a'],
  });
  assert.equal(made.status, 201);
  const { orgs, orgCount, memberCount } = made.body.data;
  assert.deepEqual([slugsOf(orgs), orgCount, memberCount], [['a', 'b', 'hidden'], 2, 11]);
  assert.deepEqual(
    orgs.map(({ listed }: { listed: boolean }) => listed),
    [true, true, false],
  );
  assert.deepEqual((await call('/alliances/league')).body, made.body);
  assert.equal((await call('/orgs/hidden')).body.data.alliance.slug, 'league');
  await service.settled();
  const { body } = await service.call('/alliances/league');
  assert.deepEqual(slugsOf(body.data.orgs), ['a', 'b'], 'the public sees the listed ones');

  await send('PATCH', '/orgs/b', { alliance: null });
  assert.deepEqual(slugsOf((await call('/alliances/league')).body.data.orgs), ['a', 'hidden']);
});

test('`orgs` replaces the members; if omitted they stay; a member of another alliance moves', async () => {
  await send('PUT', '/alliances/one', { name: 'One', orgs: ['a', 'b'] });
  await send('PUT', '/alliances/two', { name: 'Two' });
  const members = async (slug: string) => {
    const { orgs, orgCount } = (await call(`/alliances/${slug}`)).body.data;
    return [slugsOf(orgs).join(' '), orgCount];
  };
  await send('PUT', '/alliances/one', { name: 'One more' });
  await send('PATCH', '/alliances/one', { recruiting: true });
  assert.deepEqual(await members('one'), ['a b', 2]);
  await send('PATCH', '/alliances/two', { orgs: ['b'] });
  assert.deepEqual(
    [await members('one'), await members('two')],
    [
      ['a', 1],
      ['b', 1],
    ],
  );
  await send('PUT', '/alliances/two', { name: 'Two', orgs: [] });
  assert.deepEqual(await members('two'), ['', 0]);
});

test('an unknown or repeated member is rejected, and nothing changes', async () => {
  await send('PUT', '/alliances/strict', { name: 'Strict', orgs: ['a'] });
  const before = await changes();
  const unknown = await send('PUT', '/alliances/strict', { name: 'Strict', orgs: ['b', 'nobody'] });
  assert.equal(unknown.status, 400);
  assert.deepEqual(unknown.body.error.details.issues, [
    { path: 'body.orgs.1', message: 'there is no organisation nobody' },
  ]);
  assert.equal((await send('PATCH', '/alliances/strict', { orgs: ['a', 'a'] })).status, 400);
  assert.equal(
    (await send('PUT', '/alliances/new-one', { name: 'N', orgs: ['nobody'] })).status,
    400,
  );
  assert.equal((await call('/alliances/new-one')).status, 404);
  assert.equal(await changes(), before);
});

test('an alliance is announced when created, renamed like an organisation, and deleted without its members', async () => {
  const { id } = (await send('PUT', '/alliances/short-lived', { name: 'Short', orgs: ['a'] })).body
    .data;
  await send('PUT', '/alliances/short-lived', { name: 'Shorter' });
  const { rows } = await sql<{ data: string }>`
    select data from ${recordedEvents} where name = 'alliance.created' and alliance_id = ${id}
  `.execute(database);
  assert.equal(rows.length, 1);
  assert.equal(JSON.parse(rows[0]?.data ?? '').orgCount, 1, 'as it was when all of it was written');
  const renamed = await send('PATCH', '/alliances/short-lived', { slug: 'long-lived' });
  assert.equal(renamed.body.data.id, id);
  assert.equal((await send('PUT', '/alliances/short-lived', { name: 'X' })).status, 409);
  assert.equal((await call('/orgs/a')).body.data.alliance.slug, 'long-lived');
  const gone = await call('/alliances/long-lived', { method: 'DELETE' });
  assert.deepEqual([gone.status, gone.body.data], [200, { id, deleted: true }]);
  assert.equal((await call('/orgs/a')).body.data.alliance, null);
});

test('the tag of an alliance covers its members and its managers', async () => {
  const made = await send('PUT', '/alliances/tagged', { name: 'Tagged', orgs: ['a'] });
  const etag = made.headers.get('etag') ?? '';
  await send('PATCH', '/orgs/a', { memberCount: 2 });
  const late = await send('PATCH', '/alliances/tagged', { tag: 'T' }, { 'if-match': etag });
  assert.equal(late.status, 412);
  const { body, headers } = await call('/alliances/tagged');
  assert.equal(body.data.memberCount, 2);
  const current = headers.get('etag') ?? '';
  const done = await send('PATCH', '/alliances/tagged', { tag: 'T' }, { 'if-match': current });
  assert.equal(done.status, 200);
});

for (const kind of ['orgs', 'alliances'] as const)
  test(`managers of ${kind} are changed by difference: bindings of those who stay survive, the others end`, async () => {
    const path = `/${kind}/managed`;
    const { id } = (await send('PUT', path, { name: 'Managed' })).body.data;
    const subject = { kind: kind === 'orgs' ? 'organization' : 'alliance', id } as const;
    const stays = await makeKey(service, { bindTo: subject });
    const goes = await makeKey(service, { bindTo: subject });
    const boundSince = async () => {
      const { rows } = await sql<{ app_id: string; created_at: Date }>`
        select app_id, created_at from bindings where app_id in (${stays.appId}, ${goes.appId}) order by app_id
      `.execute(database);
      return rows;
    };
    const before = await boundSince();
    assert.equal(before.length, 2);
    const list = [` ${stays.owner.toUpperCase()} `, 'new@example.org', stays.owner];
    const { status, body, headers } = await send('PUT', `${path}/managers`, { managers: list });
    assert.equal(status, 200);
    assert.deepEqual(body.data.managers, ['new@example.org', stays.owner].sort());
    assert.deepEqual(
      await boundSince(),
      before.filter((each) => each.app_id === stays.appId),
    );
    const read = await call(`${path}/managers`);
    assert.deepEqual([read.body, read.headers.get('etag')], [body, headers.get('etag')]);
    assert.deepEqual((await call(path)).body.data.managers, body.data.managers);

    await send('PUT', `${path}/managers`, { managers: [stays.owner] });
    const late = await send(
      'PUT',
      `${path}/managers`,
      { managers: [] },
      { 'if-match': headers.get('etag') ?? '' },
    );
    assert.equal(late.status, 412);
    const moved = await changes();
    const bad = await send('PUT', `${path}/managers`, { managers: ['fine@example.org', 'nobody'] });
    assert.equal(bad.body.error.details.issues[0].path, 'body.managers.1');
    assert.equal((await send('PUT', `/${kind}/nowhere/managers`, { managers: [] })).status, 404);
    assert.equal(await changes(), moved);
    assert.equal((await boundSince()).length, 1);
    await send('PUT', `${path}/managers`, { managers: [] });
    assert.equal((await boundSince()).length, 0);
  });

test('concurrent lists of managers leave one of them, complete', async () => {
  await send('PUT', '/orgs/crowded', { name: 'Crowded' });
  const lists = Array.from({ length: 6 }, (_, index) => [
    `a${index}@example.org`,
    `b${index}@example.org`,
  ]);
  const answers = await Promise.all(
    lists.map((managers) => send('PUT', '/orgs/crowded/managers', { managers })),
  );
  for (const { status } of answers) assert.equal(status, 200);
  const left = (await call('/orgs/crowded/managers')).body.data.managers;
  assert.ok(
    lists.some((managers) => managers.join() === left.join()),
    left.join(),
  );
});

test('a blueprint is found by its key with any characters', async () => {
  const fields = {
    name: 'Odd',
    category: 'materials',
    output: { item: 'odd', name: 'Odd', quantity: 1 },
  };
  for (const key of ['plain', 'minecraft:stone/odd', 'ключ', '50% "x"', '😀'.repeat(200), 'a.b']) {
    const path = `/blueprints/${encodeURIComponent(key)}`;
    const made = await send('PUT', path, fields);
    assert.deepEqual([made.status, made.body.data.key], [201, key]);
    assert.deepEqual((await call(path)).body, made.body);
    const patched = await send('PATCH', path, { craftTimeSeconds: 1.5 });
    assert.equal(patched.body.data.craftTimeSeconds, 1.5);
    assert.equal((await call(path, { method: 'DELETE' })).status, 200);
    assert.equal((await call(path)).status, 404);
  }
});

test('a blueprint is replaced except its slug, patched, retired and reactivated', async () => {
  const { category, output } = blueprint() as { category: string; output: object };
  const fields = { name: 'Granite', category, output };
  const made = await send('PUT', '/blueprints/granite', {
    ...fields,
    version: '1',
    key: 'granite',
  });
  assert.deepEqual([made.status, made.body.data.slug], [201, 'granite']);
  const replaced = await send('PUT', '/blueprints/granite', { ...fields, name: 'Grey granite' });
  assert.deepEqual([replaced.body.data.slug, replaced.body.data.version], ['granite', null]);
  const retired = await send('PATCH', '/blueprints/granite', { active: false });
  assert.ok(retired.body.data.retiredAt);
  const still = await send('PATCH', '/blueprints/granite', { version: '2' });
  assert.equal(still.body.data.retiredAt, retired.body.data.retiredAt);
  const back = await send('PATCH', '/blueprints/granite', { active: true });
  assert.equal(back.body.data.retiredAt, null);
  for (const [answer, path] of [
    [await send('PUT', '/blueprints/granite', { ...fields, key: 'other' }), 'body.key'],
    [await send('PATCH', '/blueprints/granite', { key: 'other' }), 'body.key'],
    [
      await send('PATCH', '/blueprints/granite', { retiredAt: '2026-01-01T00:00:00Z' }),
      'body.retiredAt',
    ],
  ] as const)
    assert.deepEqual([answer.status, answer.body.error.details.issues[0].path], [400, path]);
});

const nouns = {
  alliances: () => ({ name: 'One' }),
  blueprints: () => {
    const { name, category, output } = blueprint({ name: 'One' });
    return { name, category, output };
  },
};
for (const [noun, fieldsOf] of Object.entries(nouns)) {
  test(`a write of ${noun} with an outdated If-Match is rejected and changes nothing`, async () => {
    const path = `/${noun}/matched`;
    const fields = fieldsOf();
    const ifMatch = { 'if-match': (await send('PUT', path, fields)).headers.get('etag') ?? '' };
    const second = await send('PATCH', path, { name: 'Two' }, ifMatch);
    assert.equal(second.status, 200);
    const before = await changes();
    for (const answer of [
      await send('PUT', path, fields, ifMatch),
      await send('PATCH', path, { name: 'Three' }, ifMatch),
      await call(path, { method: 'DELETE', headers: ifMatch }),
    ])
      assert.deepEqual([answer.status, answer.body.error?.code], [412, 'precondition_failed']);
    assert.equal(await changes(), before);
    assert.deepEqual((await call(path)).body, second.body);
  });

  test(`a former slug of ${noun} goes to no other entry, and back to its owner`, async () => {
    for (const name of ['owner', 'other'])
      await send('PUT', `/${noun}/${name}`, { ...fieldsOf(), slug: name });
    // A blueprint keeps its address, which has its key.
    const renamed = noun === 'blueprints' ? 'owner' : 'moved';
    assert.equal((await send('PATCH', `/${noun}/owner`, { slug: 'moved' })).status, 200);
    for (const slug of ['owner', 'moved'])
      assert.equal((await send('PATCH', `/${noun}/other`, { slug })).status, 409, slug);
    const back = await send('PATCH', `/${noun}/${renamed}`, { slug: 'owner' });
    assert.deepEqual([back.status, back.body.data?.slug], [200, 'owner']);
  });
}

test('an import gives a former slug of a blueprint to no other one, and back to its owner', async () => {
  const fields = blueprint({ key: 'basalt', name: 'Basalt' });
  await put(database, 'blueprints', [fields, blueprint({ key: 'tuff', name: 'Tuff' })]);
  await send('PATCH', '/blueprints/basalt', { slug: 'dark-basalt' });
  await service.settled();
  assert.equal((await service.call('/blueprints/basalt')).status, 404);
  for (const key of ['new', 'tuff'])
    await assert.rejects(put(database, 'blueprints', [blueprint({ key, slug: 'basalt' })]), /bad/);
  await put(database, 'blueprints', [{ ...fields, slug: 'basalt' }]);
  assert.equal((await call('/blueprints/basalt')).body.data.slug, 'basalt');
});

test('a body may be as large as a line of an import', async () => {
  const ingredients = Array.from({ length: 200 }, (_, index) => ({
    item: `${'é'.repeat(190)}${index}`,
    name: '😀'.repeat(200),
    quantity: 1,
    unit: null,
  }));
  const fields = {
    name: 'Large',
    category: 'materials',
    output: { item: 'x', name: 'X', quantity: 1 },
  };
  const large = await send('PUT', '/blueprints/large', { ...fields, ingredients });
  assert.equal(large.status, 201);
  const tooLarge = await send('PUT', '/blueprints/large', {
    ...fields,
    description: 'x'.repeat(3e6),
  });
  assert.equal(tooLarge.status, 413);
  assert.match(tooLarge.body.error.message, /larger than 2 MiB/);
});
