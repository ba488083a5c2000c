import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readable } from 'node:stream';
import { sql } from '../../src/database/database.ts';
import { findAlliance } from '../../src/directory/alliances.ts';
import { BadLinesError, importLines } from '../../src/directory/import.ts';
import { readNdjson } from '../../src/directory/import-source.ts';
import { disableMaintenance, enableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { openTestDatabase } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { endedDelivery } from '../support/eventually.ts';
import { fanOutParked } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';

// The first test runs a worker; the second one calls each step itself.
const service = await startTestService({
  worker: true,
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
});
const { database } = await openTestDatabase();

const counts = async () =>
  (
    await sql<{ orgs: number; events: number; waiting: number; deliveries: number }>`
      select (select count(*) from orgs) as orgs,
        (select count(*) from events) + (select count(*) from outbox) as events,
        (select count(*) from outbox) as waiting,
        (select count(*) from pending_deliveries) as deliveries
    `.execute(database)
  ).rows[0];

function importOrgs(lines: string[], fault?: Error): Promise<unknown> {
  return database.transaction().execute(async (tx) => {
    const source = readNdjson(Readable.from([Buffer.from(lines.join('\n'))]));
    const options = { kind: 'orgs', skipBad: false, emitEvents: true } as const;
    await importLines(tx, source, { ...options, publicUrl: testPublicUrl });
    if (fault) throw fault;
  });
}

test('a change and its event are committed together or not at all', async () => {
  const before = await counts();
  const good = ['{"name":"Acme"}', '{"name":"Rival"}', '{"name":"Hidden","listed":false}'];
  await assert.rejects(importOrgs([...good, '{"name":']), BadLinesError);
  await assert.rejects(importOrgs(good, new Error('the caller gave up')), /gave up/);
  assert.deepEqual(await counts(), before);
  await importOrgs(good);
  const { orgs, events } = (await counts()) ?? {};
  assert.deepEqual([orgs, events], [(before?.orgs ?? 0) + 3, (before?.events ?? 0) + 2]);
});

test('concurrent switches of maintenance publish one event', async () => {
  const before = (await counts())?.events ?? 0;
  const announcement = { message: null, expectedEnd: null };
  await Promise.all([1, 2, 3].map(() => enableMaintenance(database, testActor, announcement)));
  assert.equal((await counts())?.events, before + 1);
  await Promise.all([1, 2, 3].map(() => disableMaintenance(database, testActor)));
  assert.equal((await counts())?.events, before + 2);
});

test('an interrupted fan-out is repeated, and each event is delivered once', async () => {
  const { appId } = await makeKey({ database });
  await sql`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${appId}, 'https://example.org/', '' from generate_series(1, 3)
  `.execute(database);
  await sql
    .raw(
      `create function break() returns trigger language plpgsql as $$
       begin if (select count(*) from orgdir.pending_deliveries) >= 4 then raise 'broken'; end if; return new; end $$;
       create constraint trigger break after insert on pending_deliveries deferrable initially deferred
         for each row execute function break()`,
    )
    .execute(database);
  await importOrgs(['{"name":"One"}', '{"name":"Two"}']);
  const before = await counts();
  assert.ok(before && before.waiting >= 2);
  const pairs = before.waiting * 3;
  await assert.rejects(fanOutParked(database), /broken/);
  assert.deepEqual(await counts(), before);
  await sql`drop trigger break on pending_deliveries`.execute(database);
  await Promise.all([fanOutParked(database), fanOutParked(database)]);
  assert.deepEqual(await counts(), { ...before, waiting: 0, deliveries: pairs });
  const { rows } = await sql<{ pairs: number }>`
    select count(distinct (event_id, webhook_id)) as pairs from pending_deliveries
  `.execute(database);
  assert.equal(rows[0]?.pairs, pairs);
});

test('the recorded bytes are sent, shown and redelivered', async () => {
  await put(service.database, 'alliances', [{ slug: 'league', name: 'League' }]);
  const league = await findAlliance(service.database, 'league');
  assert.ok(league);
  const { key } = await makeKey(service, { bindTo: { kind: 'alliance', id: league.id } });
  // Odd order, spaces, escapes that need not be, numbers that no double holds.
  const data = `{ "request" : {"title":"\\u0041é\\ud83d\\ude00😀\u2028\\/", "items":[{"unit":null,"quantity":123456789012.12345678901234567890,"name":"x"},{"quantity":1.0,"name":"y","unit":null},{"name":"z","quantity":1E2,"unit":null}],"deadline":null,"organization":null,"id":"r-1"},"alliance":{"slug":"league","id":"${league.id}","name":"League"},"allianceId":"${league.id}"}`;
  const receiver = await startReceiver((response, _, count) =>
    response.writeHead(count < 3 ? 500 : 200).end(),
  );
  const { body: created } = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: receiver.url },
  });
  const webhook = created.data.id as string;
  const { rows } = await sql<{ created_at: Date }>`
    insert into outbox (id, name, audience, alliance_id, data)
    values (uuid_v7(), 'resource.request.created', 'alliance', ${league.id}, ${data})
    returning created_at
  `.execute(service.database);
  await receiver.waitFor(3);
  const { id } = await endedDelivery(service, webhook);
  const path = `/webhooks/${webhook}/deliveries/${id}`;
  await service.call(`${path}/redeliver`, { method: 'POST', key });
  const received = await receiver.waitFor(4);
  const createdAt = rows[0]?.created_at.toISOString();
  const expected = `{"id":"${id}","event":"resource.request.created","createdAt":"${createdAt}","data":${data}}`;
  assert.deepEqual(
    received.map(({ body }) => body.toString()),
    Array.from({ length: 4 }, () => expected),
  );
  const detail = await service.call(path, { key });
  assert.equal(detail.body.data.body, expected);
  const pulled = await service.call('/events', { key });
  assert.ok(pulled.text.includes(`"data":${data}`), pulled.text);
});

test('an event is fanned out even if the clock of the database was put back since', async () => {
  await importOrgs(['{"name":"Ahead"}']);
  await sql`update outbox set created_at = created_at + interval '1 hour'`.execute(database);
  assert.equal((await fanOutParked(database)).events, 1);
});
