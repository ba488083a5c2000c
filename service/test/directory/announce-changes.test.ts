/** The opt-in events of changed entries: docs/reference/events.md#changes-of-entries */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { pino } from 'pino';
import { sql, type Executor } from '../../src/database/database.ts';
import { createChangesAnnouncer, partMax } from '../../src/directory/announce.ts';
import { announceDelayMs, foldEntryChanges } from '../../src/directory/fold-entry-changes.ts';
import type { ImportKind } from '../../src/directory/import.ts';
import { writeMemberCounts } from '../../src/sync/sync-chat.ts';
import { optInEvents, subscribableEvents } from '../../src/events/catalogue.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { blueprint, put } from '../support/directory.ts';
import { fanOutParked } from '../support/queue.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';

// No worker runs: each test calls its steps, at the times that it chooses.
const service = await startTestService();
const { database } = service;
/** As if so much time had passed since the changes. */
const pass = (ms = announceDelayMs) =>
  sql`update entry_changes set announce_at = announce_at - ${ms} * interval '1 millisecond'`.execute(
    database,
  );

const announcerOf = (log = createLogger('silent')) => createChangesAnnouncer(testPublicUrl, log);
const announce = announcerOf();

async function fold(): Promise<void> {
  while ((await foldEntryChanges(database)).more);
}

/** What a worker does in a second, without the fan-out of others' events. */
async function announceAll(): Promise<Recorded[]> {
  await fold();
  await pass();
  const recorded: Recorded[] = [];
  do {
    await announce(database);
    recorded.push(...(await takeOutbox()));
  } while (await isAwaited());
  return recorded;
}

async function isAwaited(): Promise<boolean> {
  const { rows } = await sql<{ awaited: boolean }>`
    select exists (select from entry_changes where announce_at is not null) as awaited
  `.execute(database);
  return rows[0]?.awaited === true;
}

type Recorded = { id: string; name: string; data: string };
/** The events that wait for fan-out, in their order, and fans them out. */
async function takeOutbox(): Promise<Recorded[]> {
  const { rows } = await sql<Recorded>`
    select id, name, data from outbox where name = any(${optInEvents}::text[]) order by xid, id
  `.execute(database);
  while ((await fanOutParked(database)).events > 0);
  return rows;
}
const namesOf = (events: Recorded[]) =>
  events.map(({ name, data }) => {
    const { id, slug } = JSON.parse(data) as { id: string; slug?: string };
    return `${name} ${slug ?? id}`;
  });
/** The names and slugs, or ids, of the events of everything so far. */
const announced = async () => namesOf(await announceAll()).sort();

const update = (
  slug: string,
  set: ReturnType<typeof sql>,
  table = 'orgs',
  on: Executor = database,
) => sql`update ${sql.table(table)} set ${set} where slug = ${slug}`.execute(on);
const remove = (slug: string, table = 'orgs') =>
  sql`delete from ${sql.table(table)} where slug = ${slug}`.execute(database);
const idOf = async (slug: string, table = 'orgs') => {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where slug = ${slug}
  `.execute(database);
  return rows[0]?.id as string;
};
const putLoud = (kind: ImportKind, rows: object[]) =>
  put(database, kind, rows, { emitEvents: true });

async function makeWebhook(events: string[] | null, key = service.key): Promise<string> {
  const json = { url: 'https://example.org/', events };
  const { status, body } = await service.call('/webhooks', { method: 'POST', key, json });
  assert.equal(status, 201, JSON.stringify(body));
  return body.data.id as string;
}
const deliveriesOf = async (webhookId: string) => {
  const { rows } = await sql<{ event: string }>`
    select event from pending_deliveries where webhook_id = ${webhookId} order by event
  `.execute(database);
  return rows.map(({ event }) => event);
};

await put(database, 'alliances', [{ slug: 'north', name: 'North' }]);
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme', alliance: 'north' },
  { slug: 'beta', name: 'Beta', alliance: 'north' },
  { slug: 'gamma', name: 'Gamma' },
  { slug: 'never-listed', name: 'Never listed', listed: false },
]);
await put(database, 'blueprints', [blueprint({ key: 'granite', slug: 'granite' })]);
const every = await makeWebhook(null);
const naming = await makeWebhook([...optInEvents]);

test('an event shows the entry as the API does, and a removed one only its id', async () => {
  await announceAll();
  await update('acme', sql`description = 'New'`);
  await update('north', sql`description = 'New'`, 'alliances');
  await update('granite', sql`version = 'New'`, 'blueprints');
  const updated = await announceAll();
  assert.deepEqual(namesOf(updated).sort(), [
    'alliance.updated north',
    'blueprint.updated granite',
    'org.updated acme',
  ]);
  await service.settled();
  for (const [name, path] of [
    ['org.updated', '/orgs/acme'],
    ['alliance.updated', '/alliances?slug=north'],
    ['blueprint.updated', '/blueprints/granite'],
  ] as const) {
    const { data } = (await service.call(path)).body;
    const found = updated.find((event) => event.name === name);
    assert.equal(found?.data, JSON.stringify(Array.isArray(data) ? data[0] : data));
  }
  await putLoud('alliances', [{ slug: 'south', name: 'South' }]);
  await putLoud('blueprints', [blueprint({ key: 'marble', slug: 'marble' })]);
  await announceAll();
  const ids = {
    org: await idOf('gamma'),
    hidden: await idOf('beta'),
    alliance: await idOf('south', 'alliances'),
    blueprint: await idOf('marble', 'blueprints'),
  };
  await remove('gamma');
  await update('beta', sql`listed = false`);
  await remove('south', 'alliances');
  await remove('marble', 'blueprints');
  const removed = (await announceAll()).filter(({ name }) => name.endsWith('.removed'));
  assert.deepEqual(
    removed.map(({ name, data }) => `${name} ${data}`).sort(),
    [
      `alliance.removed {"id":"${ids.alliance}"}`,
      `blueprint.removed {"id":"${ids.blueprint}"}`,
      `org.removed {"id":"${ids.hidden}"}`,
      `org.removed {"id":"${ids.org}"}`,
    ].sort(),
  );
});

test('only webhooks that name an event get it, whatever their app is bound to', async () => {
  const acme = { kind: 'organization', id: await idOf('acme') } as const;
  const { key } = await makeKey(service, { bindTo: acme });
  const [bound, boundEvery] = [
    await makeWebhook(['org.updated', 'alliance.removed'], key),
    await makeWebhook(null, key),
  ];
  await sql`delete from pending_deliveries`.execute(database);
  await update('acme', sql`description = 'Newer'`);
  await update('north', sql`description = 'Newer'`, 'alliances');
  await announceAll();
  assert.deepEqual(await deliveriesOf(naming), ['alliance.updated', 'org.updated']);
  assert.deepEqual(await deliveriesOf(bound), ['org.updated']);
  assert.deepEqual(await deliveriesOf(every), []);
  assert.deepEqual(await deliveriesOf(boundEvery), []);
});

test('GET /events does not list them', async () => {
  await update('acme', sql`description = 'Listed nowhere'`);
  assert.equal((await announceAll()).length, 1);
  for (let after = ''; ;) {
    const { body } = await service.call(`/events?limit=100${after}`);
    for (const { event } of body.data) assert.ok(!optInEvents.includes(event), event);
    if (!body.pagination.hasMore) break;
    after = `&after=${body.pagination.nextCursor}`;
  }
  const { status, body } = await service.call('/events?event=org.updated');
  assert.deepEqual([status, body.error.details.issues[0].path], [400, 'query.event']);
});

test('the database and the catalogue have the same opt-in events', async () => {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...subscribableEvents]}::text[]) as name where not takes_event(true, null, name)
  `.execute(database);
  assert.deepEqual(rows.map(({ name }) => name).sort(), optInEvents.toSorted());
});

test('what was never listed has no event, and what is hidden and then deleted is removed once', async () => {
  await announceAll();
  await update('never-listed', sql`name = name || ' changed'`);
  await update('acme', sql`notes = 'Private', contact_email = 'a@example.org'`);
  await database.transaction().execute(async (tx) => {
    await update('never-listed', sql`listed = true`, 'orgs', tx);
    await update('never-listed', sql`name = 'Shown'`, 'orgs', tx);
    await update('never-listed', sql`listed = false`, 'orgs', tx);
  });
  await putLoud('orgs', [{ slug: 'hidden-too', name: 'Hidden', listed: false }]);
  await remove('hidden-too');
  assert.deepEqual(await announced(), []);
  await putLoud('orgs', [{ slug: 'brief', name: 'Brief' }]);
  assert.deepEqual(await announced(), ['org.updated brief']);
  const id = await idOf('brief');
  await update('brief', sql`listed = false`);
  assert.deepEqual(await announced(), [`org.removed ${id}`]);
  await update('brief', sql`name = 'Secret'`);
  await remove('brief');
  assert.deepEqual(await announced(), []);
});

test('an update of an organisation that is hidden before it is sent is cancelled', async () => {
  await sql`delete from pending_deliveries`.execute(database);
  await update('acme', sql`description = 'Before it is hidden'`);
  await fold();
  await pass();
  await announce(database);
  const id = await idOf('acme');
  await update('acme', sql`listed = false`);
  await takeOutbox();
  assert.deepEqual(await deliveriesOf(naming), []);
  assert.deepEqual(await announced(), ['alliance.updated north', `org.removed ${id}`]);
  assert.deepEqual(await deliveriesOf(naming), ['alliance.updated', 'org.removed']);
  await update('acme', sql`listed = true`);
  assert.deepEqual(await announced(), ['alliance.updated north', 'org.updated acme']);
});

test('the changes of an entry within a second are one event, with the last of them', async () => {
  await announceAll();
  await update('acme', sql`description = 'One'`);
  await fold();
  assert.ok((await announce(database)) <= announceDelayMs, 'it is due within the delay');
  assert.deepEqual(await takeOutbox(), [], 'not before a second has passed');
  await update('acme', sql`description = 'Two'`);
  await update('acme', sql`description = 'Three'`);
  const events = await announceAll();
  assert.deepEqual(namesOf(events), ['org.updated acme']);
  assert.equal((JSON.parse(events[0]?.data ?? '') as { description: string }).description, 'Three');
  await update('acme', sql`description = 'Four'`);
  assert.deepEqual(await announced(), ['org.updated acme']);
  assert.deepEqual(await announced(), []);
});

test('a change that an event shows before its note is moved has no event of its own', async () => {
  await announceAll();
  await update('acme', sql`description = 'Moved'`);
  await fold();
  await update('acme', sql`description = 'Not moved yet'`);
  await pass();
  await announce(database);
  const [event] = await takeOutbox();
  assert.match(event?.data ?? '', /Not moved yet/);
  assert.deepEqual(await announced(), []);
});

test('an import announces nothing next to the note of a change that an event has shown', async () => {
  await announceAll();
  await update('acme', sql`description = 'Due'`);
  await fold();
  await update('acme', sql`description = 'Shown'`);
  await pass();
  await announce(database);
  assert.match((await takeOutbox())[0]?.data ?? '', /Shown/);
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', alliance: 'north' }]);
  assert.deepEqual(await announced(), []);
});

test('several processes at once make one event of each entry', async () => {
  await announceAll();
  const many = Array.from({ length: 40 }, (_, index) => ({ slug: `many-${index}`, name: 'Many' }));
  await putLoud('orgs', many);
  await takeOutbox();
  const processes = Array.from({ length: 4 }, () => announcerOf());
  for (let round = 0; round < 3; round += 1)
    await Promise.all(
      processes.map(async (announceHere) => {
        await foldEntryChanges(database);
        await announceHere(database);
      }),
    );
  await pass();
  await Promise.all(processes.map((announceHere) => announceHere(database)));
  assert.equal(await isAwaited(), false);
  assert.deepEqual(
    namesOf(await takeOutbox()).sort(),
    many.map(({ slug }) => `org.updated ${slug}`).sort(),
  );
});

test('a process that dies before its commit leaves the events to the next', async () => {
  await announceAll();
  await update('acme', sql`description = 'Survives'`);
  await fold();
  await pass();
  await sql`create function die() returns trigger language plpgsql as $$
    begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`.execute(database);
  await sql`create trigger die after insert on outbox for each statement execute function die()`.execute(
    database,
  );
  await assert.rejects(announce(database));
  await sql`drop trigger die on outbox`.execute(database);
  assert.deepEqual(await announced(), ['org.updated acme']);
});

test('an import and a sync of member counts announce nothing, unless an import is asked to', async () => {
  await announceAll();
  await put(database, 'orgs', [{ slug: 'imported', name: 'Imported', alliance: 'north' }]);
  await put(database, 'blueprints', [blueprint({ key: 'granite', slug: 'granite' })]);
  await update('acme', sql`chat_server_id = '42'`);
  const id = await idOf('acme');
  await database
    .transaction()
    .execute((tx) => writeMemberCounts(tx, [{ id, serverId: '42', members: 4_711 }]));
  assert.deepEqual(await announced(), [], 'not their alliance either');
  await putLoud('orgs', [
    { slug: 'imported', name: 'Imported', description: 'Again', alliance: null },
  ]);
  assert.deepEqual(await announced(), ['alliance.updated north', 'org.updated imported']);
  await update('acme', sql`description = 'Shows the count'`);
  const [event] = await announceAll();
  assert.match(event?.data ?? '', /"memberCount":4711/);
});

test('nothing is made while no active webhook names it', async () => {
  await announceAll();
  const setActive = (active: boolean) =>
    service.call(`/webhooks/${naming}`, { method: 'PATCH', json: { active } });
  const setEvents = (events: string[]) =>
    sql`update webhooks set events = ${events} where id = ${naming}`.execute(database);
  await sql`delete from webhooks where id not in (${naming}, ${every})`.execute(database);
  await setEvents(['org.created']);
  await update('acme', sql`description = 'Unnamed'`);
  assert.deepEqual(await announced(), []);
  await setEvents(['org.removed']);
  await update('acme', sql`description = 'Unnamed again'`);
  const id = await idOf('many-0');
  await remove('many-0');
  assert.deepEqual(await announced(), [`org.removed ${id}`]);
  await setEvents([...optInEvents]);
  await update('acme', sql`description = 'Deactivated before it is due'`);
  await fold();
  await setActive(false);
  await pass();
  await announce(database);
  await update('acme', sql`description = 'Deactivated'`);
  assert.deepEqual(await announced(), []);
  await setActive(true);
  assert.deepEqual(await announced(), [], 'nothing is left over');
});

test('an entry that cannot be shown has no event, is logged, and stops no other', async () => {
  await announceAll();
  const lines: { msg: string; kind?: string; id?: string }[] = [];
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  await putLoud('blueprints', [blueprint({ key: 'basalt', slug: 'basalt' })]);
  await announceAll();
  await update('granite', sql`sources = '5'`, 'blueprints');
  await update('basalt', sql`version = 'Right'`, 'blueprints');
  await update('acme', sql`description = 'Right'`);
  await fold();
  await pass();
  await announcerOf(pino(output))(database);
  assert.deepEqual(namesOf(await takeOutbox()).sort(), [
    'blueprint.updated basalt',
    'org.updated acme',
  ]);
  assert.deepEqual(
    lines.map(({ msg, kind, id }) => [msg, kind, id]),
    [['change.not_announced', 'blueprints', await idOf('granite', 'blueprints')]],
  );
  assert.equal(await isAwaited(), false);
  await update('granite', sql`sources = '[]'`, 'blueprints');
  assert.deepEqual(await announced(), ['blueprint.updated granite']);
});

test('a large change is announced in parts, each after fan-out has taken the one before', async () => {
  await announceAll();
  const rows = Array.from({ length: partMax + 1 }, (_, index) => ({
    slug: `part-${index}`,
    name: 'Part',
  }));
  await putLoud('orgs', rows);
  while ((await fanOutParked(database)).events > 0);
  await fold();
  await pass();
  await announce(database);
  await announce(database);
  assert.equal((await takeOutbox()).length, partMax);
  await announce(database);
  assert.equal((await takeOutbox()).length, 1);
});

test('an event that somebody has locked does not stop the events of the next part', async () => {
  await announceAll();
  const rows = Array.from({ length: partMax + 1 }, (_, index) => ({
    slug: `next-${index}`,
    name: 'Next',
  }));
  await putLoud('orgs', rows);
  while ((await fanOutParked(database)).events > 0);
  await fold();
  await pass();
  await announce(database);
  await database.transaction().execute(async (tx) => {
    await sql`select from outbox for update`.execute(tx);
    await announce(database);
  });
  assert.equal((await takeOutbox()).length, partMax + 1);
});

test('events that were due before the clock was put back are made', async () => {
  await announceAll();
  await update('acme', sql`description = 'Put back'`);
  await fold();
  await pass(-86_400_000);
  await announce(database);
  assert.deepEqual(namesOf(await takeOutbox()), ['org.updated acme']);
});

test('who follows the events alone has the listed organisations, and never sees another', async () => {
  const slugs = ['r1', 'r2', 'r3'];
  const edit = fc.record({
    slug: fc.constantFrom(...slugs),
    what: fc.constantFrom('create', 'rename', 'hide', 'show', 'delete', 'fold', 'second'),
    number: fc.nat(9),
  });
  const perform = (
    on: Executor,
    { slug, what, number }: { slug: string; what: string; number: number },
  ) => {
    if (what === 'create')
      return sql`insert into orgs (id, slug, name, name_sort, search_text, listed)
        values (gen_random_uuid(), ${slug}, ${slug}, ${slug}, ${slug}, ${number % 2 === 0}) on conflict do nothing`.execute(
        on,
      );
    if (what === 'delete') return remove(slug);
    const set = {
      rename: sql`name = ${`${slug} ${number}`}`,
      hide: sql`listed = false`,
      show: sql`listed = true`,
    }[what];
    return set ? update(slug, set, 'orgs', on) : null;
  };
  await sql`delete from orgs`.execute(database);
  await announceAll();
  const copy = new Map<string, object>();
  const listedOnce = new Set<string>();
  const listed = async () => {
    const { rows } = await sql<{
      id: string;
    }>`select id from orgs where listed order by id`.execute(database);
    return rows.map(({ id }) => id);
  };
  const follow = (events: Recorded[]) => {
    for (const { name, data } of events) {
      const entry = JSON.parse(data) as { id: string };
      assert.ok(listedOnce.has(entry.id), `${name} of one that was never listed`);
      if (name === 'org.updated') copy.set(entry.id, entry);
      else if (name === 'org.removed') copy.delete(entry.id);
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
      for (const each of edits) {
        await perform(database, each);
        for (const id of await listed()) listedOnce.add(id);
        if (each.what === 'fold') await fold();
        if (each.what === 'second') follow(await announceAll());
      }
      follow(await announceAll());
      await service.settled();
      const { data } = (await service.call('/orgs?limit=100')).body as { data: { id: string }[] };
      const byId = (one: [string, object], other: [string, object]) => (one[0] < other[0] ? -1 : 1);
      assert.deepEqual(
        [...copy].sort(byId),
        data.map((entry): [string, object] => [entry.id, entry]).sort(byId),
      );
    }),
    { numRuns: 40 },
  );
});
