/** One bad row never stops a stage: it is set aside, what comes after it is delivered, and an operator retries or drops it. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { pino } from 'pino';
import { sql } from '../../src/database/database.ts';
import {
  dropSetAside,
  isRefusal,
  listRefusedIds,
  isolateRefused,
  retrySetAside,
  type SetAside,
} from '../../src/events/set-aside.ts';
import { listAudit } from '../../src/access/audit-log.ts';
import { retryRejected } from '../../src/events/published-events.ts';
import { toUrl } from '../support/database.ts';
import { runHere } from '../support/run-here.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { queueDrained } from '../support/queue.ts';
import { loopbackAllowed, startReceiver, type Receiver } from '../support/receiver.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const logged: SetAside[] = [];
const write = (text: string) => {
  const line = JSON.parse(text) as SetAside & { msg: string };
  if (line.msg === 'row.set_aside') logged.push(line);
};
const service = await startTestService({
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '100' },
  worker: true,
  log: pino({ level: 'info' }, { write }),
});
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

/** What a test that failed left must not fail the next one. */
const lifts: (() => Promise<void>)[] = [];
afterEach(async () => {
  logged.splice(0);
  for (const lift of lifts.splice(0)) await lift();
  await sql`delete from webhooks`.execute(database);
  await sql`delete from set_aside`.execute(database);
});

async function register(receiver: Receiver): Promise<string> {
  const { body } = await service.call('/webhooks', { method: 'POST', json: { url: receiver.url } });
  return body.data.id;
}

const remove = (webhookId: string) => service.call(`/webhooks/${webhookId}`, { method: 'DELETE' });

let causes = 0;
/** PostgreSQL refuses rows for which the condition holds. Returns the function that removes the cause. */
async function refuse(
  table: string,
  when: 'insert' | 'update' | 'delete',
  condition: string,
): Promise<() => Promise<void>> {
  const name = `refuse_${(causes += 1)}`;
  const define = (raises: string) =>
    sql
      .raw(`
        create or replace function ${name}() returns trigger language plpgsql as $$
        begin
          if ${raises} then raise exception 'out of range' using errcode = '22003', detail = 'a secret'; end if;
          return coalesce(new, old);
        end $$
      `)
      .execute(database);
  await define(condition);
  await sql
    .raw(
      `create trigger ${name} before ${when} on ${table} for each row execute function ${name}()`,
    )
    .execute(database);
  // To drop the trigger, PostgreSQL would lock tables in another order than the worker.
  const lift = async () => void (await define('false'));
  lifts.push(lift);
  return lift;
}

type Row = { id: string; stage: string; source: string; reason: string };

async function setAsideRows(): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select id, stage, source, reason from set_aside order by id
  `.execute(database);
  return rows;
}

/** Resolves with the only row, once it is set aside. */
const oneSetAside = () =>
  eventually(async () => {
    const rows = await setAsideRows();
    assert.ok(rows.length <= 1, JSON.stringify(rows));
    return rows[0];
  });

const retry = (id: string) => database.transaction().execute((tx) => retrySetAside(tx, [id]));
const drop = (id: string) => database.transaction().execute((tx) => dropSetAside(tx, [id]));

test('record: an attempt that is refused is set aside alone, and its delivery is sent again when it is retried', async () => {
  const [bad, good] = [
    await startReceiver((response) => response.writeHead(418).end()),
    await startReceiver(),
  ];
  const webhooks = [await register(bad), await register(good)];
  const lift = await refuse('attempts', 'insert', 'new.status_code = 418');
  await announce(database);
  await good.waitFor(1);
  const { id, stage, source, reason } = await oneSetAside();
  assert.deepEqual(
    [stage, source, reason],
    ['record', 'pending_deliveries', 'out of range (attempt 1: retry, 418)'],
  );
  await eventually(async () => logged.length > 0);
  assert.deepEqual(
    logged.map(({ code, webhookId }) => [code, webhookId]),
    [['22003', webhooks[0]]],
  );
  bad.respond = (response) => response.writeHead(200).end();
  await announce(database);
  await Promise.all([good.waitFor(2), bad.waitFor(2)]);
  await lift();
  assert.equal(await retry(id), 1);
  await bad.waitFor(3);
  await queueDrained(database);
  const { rows } = await sql<{ error: string | null; statusCode: number | null }>`
    select error, status_code as "statusCode" from attempts a join deliveries d on d.id = a.delivery_id
    where d.webhook_id = ${webhooks[0]} order by a.delivery_id, a.number
  `.execute(database);
  assert.deepEqual(rows, [
    { error: 'interrupted', statusCode: null },
    { error: null, statusCode: 200 },
    { error: null, statusCode: 200 },
  ]);
  assert.deepEqual(await setAsideRows(), []);
});

test('leases: one that cannot be taken back is set aside, and the others of its process are retried', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver);
  const lift = await refuse(
    'attempts',
    'insert',
    `new.error = 'interrupted' and new.duration_ms = 30001`,
  );
  await sql`
    with clock as materialized (select queue_now() as now),
    event as (
      insert into events (id, name, audience, data, position) values (uuid_v7(), 'org.created', 'global', '{}', 0) returning id
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, cycle_attempts, attempt_count, due_at, lease_token, leased_at)
    select uuid_v7(), event.id, 'org.created', ${webhook}, 'event', 1, 1, now, '00000000-0000-0000-0000-000000000001',
      now - (30000 + n) * interval '1 millisecond'
    from clock, event, generate_series(0, 9) n
  `.execute(database);
  await receiver.waitFor(9);
  const { id, stage } = await oneSetAside();
  assert.equal(stage, 'leases');
  await lift();
  await retry(id);
  await receiver.waitFor(10);
  await queueDrained(database);
});

test('health: one outcome that is refused is set aside, and its webhook gets attempts again', async () => {
  const [bad, good] = [await startReceiver(), await startReceiver()];
  const [badId, goodId] = [await register(bad), await register(good)];
  const lift = await refuse('operational_events', 'insert', 'new.status_code = 418');
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, status_code, gone)
    select ${badId}, verdict, status, false
    from (values (1, 'succeeded', 200), (2, 'succeeded', 200), (3, 'failed', 418)) as given(place, verdict, status) order by place
  `.execute(database);
  const { id, stage } = await oneSetAside();
  assert.equal(stage, 'health');
  await announce(database);
  await Promise.all([bad.waitFor(1), good.waitFor(1)]);
  await queueDrained(database);
  const health = async () => {
    const { rows } = await sql<{ id: string; exhausted: number }>`
      select webhook_id as id, exhausted_in_a_row as exhausted from webhook_health order by webhook_id
    `.execute(database);
    return rows;
  };
  const well = [badId, goodId].sort().map((webhookId) => ({ id: webhookId, exhausted: 0 }));
  assert.deepEqual(await health(), well);
  await lift();
  await retry(id);
  await eventually(async () => (await health()).some(({ exhausted }) => exhausted === 1));
});

test('totals: one change that is refused is set aside, and counted when it is retried', async () => {
  const [bad, good] = [await startReceiver(), await startReceiver()];
  const [badId, goodId] = [await register(bad), await register(good)];
  const lift = await refuse('delivery_totals', 'insert', `new.webhook_id = '${badId}'`);
  await announce(database);
  const counted = (webhookId: string) =>
    eventually(async () => {
      const { rows } = await sql<{ deliveries: number }>`
        select sum(deliveries)::int as deliveries from delivery_totals where webhook_id = ${webhookId} having count(*) > 0
      `.execute(database);
      return rows[0]?.deliveries;
    });
  assert.equal(await counted(goodId), 1);
  const { id, stage } = await oneSetAside();
  assert.equal(stage, 'totals');
  await lift();
  await retry(id);
  assert.equal(await counted(badId), 1);
});

test('intake: an entry that is refused is set aside, and gets its position when it is retried', async () => {
  const receiver = await startReceiver();
  await register(receiver);
  const lift = await refuse(
    'outbox',
    'insert',
    `new.name = 'org.created' and new.data like '%"acme"%'`,
  );
  await put(database, 'orgs', [{ slug: 'other', name: 'Other' }]);
  const { rows } = await sql<{ bad: string; good: string }>`
    select publish_event('org.created', null, 'acme') as bad, publish_event('org.created', null, 'other') as good
  `.execute(database);
  const sent = async (count: number) =>
    (await receiver.waitFor(count)).map(
      ({ body }) => (JSON.parse(String(body)) as { data: { slug: string } }).data.slug,
    );
  assert.deepEqual(await sent(1), ['other']);
  const { id, stage } = await oneSetAside();
  assert.equal(stage, 'intake');
  await lift();
  await retry(id);
  assert.deepEqual(await sent(2), ['other', 'acme']);
  await queueDrained(database);
  const positions = await sql<{
    id: string;
  }>`select id from events where id = any(${[rows[0]?.bad, rows[0]?.good]}::uuid[]) order by position`.execute(
    database,
  );
  assert.deepEqual(
    positions.rows.map((each) => each.id),
    [rows[0]?.good, rows[0]?.bad],
  );
});

test('replays: what PostgreSQL refuses is set aside, no replay makes it again, and the rest is queued', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver);
  const change = (json: object) => service.call(`/webhooks/${webhook}`, { method: 'PATCH', json });
  await change({ active: false });
  const [bad, good] = [await announce(database), await announce(database)];
  const lift = await refuse('pending_deliveries', 'insert', `new.event_id = '${bad}'`);
  await queueDrained(database);
  await change({ active: true });
  await sql`
    insert into webhook_healing (webhook_id, replay_since) values (${webhook}, now() - interval '1 hour')
  `.execute(database);
  // It looks for replays at its start.
  await service.worker.stop();
  service.worker.start();
  const { id, stage } = await oneSetAside();
  assert.equal(stage, 'replays');
  await receiver.waitFor(1);
  await queueDrained(database);
  await lift();
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const again = await service.call(`/webhooks/${webhook}/replay`, {
    method: 'POST',
    json: { since },
  });
  assert.deepEqual(again.body.data, { failed: 0, cancelled: 0, missed: 0, more: false });
  await retry(id);
  const ids = (await receiver.waitFor(2)).map(
    ({ body }) => (JSON.parse(String(body)) as { id: string }).id,
  );
  assert.equal(new Set(ids).size, 2);
  await queueDrained(database);
  const { rows } = await sql<{ eventId: string; status: string }>`
    select event_id as "eventId", status from deliveries where webhook_id = ${webhook} order by event_id
  `.execute(database);
  assert.deepEqual(
    rows,
    [bad, good].sort().map((eventId) => ({ eventId, status: 'succeeded' })),
  );
});

test('replays: whoever asks for one, what is set aside is logged', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver);
  const change = (json: object) => service.call(`/webhooks/${webhook}`, { method: 'PATCH', json });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const env = { DATABASE_URL: toUrl(service.connection), PUBLIC_URL: testPublicUrl };
  const missBad = async () => {
    await change({ active: false });
    const event = await announce(database);
    await refuse('pending_deliveries', 'insert', `new.event_id = '${event}'`);
    await queueDrained(database);
    await change({ active: true });
    return event;
  };
  const overApi = await missBad();
  const { status } = await service.call(`/webhooks/${webhook}/replay`, {
    method: 'POST',
    json: { since },
  });
  assert.equal(status, 202);
  await eventually(async () => logged.length === 1);
  const byCommand = await missBad();
  const { code, stderr } = await runHere(['replay', '--webhook', webhook, '--since', since], env);
  assert.deepEqual([code, stderr.includes(byCommand)], [0, true], stderr);
  assert.match(stderr, /was set aside and is not sent: out of range/);
  assert.deepEqual(logged.map(({ stage, eventId }) => [stage, eventId]).slice(0, 1), [
    ['replays', overApi],
  ]);
});

/** The events that were delivered. */
async function eventsOf(webhookId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select event_id as id from deliveries where webhook_id = ${webhookId} and status = 'succeeded' order by completed_at
  `.execute(database);
  return rows.map(({ id }) => id);
}

test('fan-out: an event that is refused is set aside, and gets its position when it is retried', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver);
  const lift = await refuse('events', 'insert', `new.data like '%Bad%'`);
  await put(database, 'orgs', [{ slug: 'bad', name: 'Bad' }]);
  const [before, bad, after] = [
    await announce(database),
    await announce(database, 'bad'),
    await announce(database),
  ];
  await receiver.waitFor(2);
  const { id, stage, source } = await oneSetAside();
  assert.deepEqual([stage, source], ['fan-out', 'outbox']);
  await lift();
  await retry(id);
  await receiver.waitFor(3);
  await queueDrained(database);
  assert.deepEqual((await eventsOf(webhook)).sort(), [before, bad, after].sort());
  const { rows } = await sql<{
    id: string;
  }>`select id from events where id = any(${[before, bad, after]}::uuid[]) order by position`.execute(
    database,
  );
  assert.deepEqual(
    rows.map((row) => row.id),
    [before, after, bad],
  );
});

test('fan-out: one delivery that is refused is set aside without the others of its event', async () => {
  const receivers = [await startReceiver(), await startReceiver(), await startReceiver()];
  const ids: string[] = [];
  for (const receiver of receivers) ids.push(await register(receiver));
  const lift = await refuse('pending_deliveries', 'insert', `new.webhook_id = '${ids[1]}'`);
  const event = await announce(database);
  await Promise.all([receivers[0]?.waitFor(1), receivers[2]?.waitFor(1)]);
  const { id, stage, source } = await oneSetAside();
  assert.deepEqual([stage, source], ['fan-out', 'pending_deliveries']);
  await lift();
  const next = await announce(database);
  await Promise.all(receivers.map((receiver, place) => receiver.waitFor(place === 1 ? 1 : 2)));
  await retry(id);
  await receivers[1]?.waitFor(2);
  await queueDrained(database);
  for (const webhook of ids)
    assert.deepEqual((await eventsOf(webhook)).sort(), [event, next].sort());
});

for (const [what, condition] of [
  ['parked', 'new.parked'],
  ['leased', 'old.lease_token is null and new.lease_token is not null'],
])
  test(`claim: a delivery that cannot be ${what} is set aside, and the others are sent`, async () => {
    const [bad, good] = [await startReceiver(), await startReceiver()];
    const [badId, goodId] = [await register(bad), await register(good)];
    const lift = await refuse(
      'pending_deliveries',
      'update',
      `new.webhook_id = '${badId}' and new.cycle_attempts <= 1 and ${condition}`,
    );
    await sql`
      with event as (
        insert into events (id, name, audience, data, position) values (uuid_v7(), 'org.created', 'global', '{}', 0) returning id
      )
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
      select uuid_v7(), event.id, 'org.created', webhook_id::uuid, 'redelivery', queue_now()
      from event, unnest(${[goodId, badId, goodId]}::text[]) as webhook_id
    `.execute(database);
    await good.waitFor(2);
    const { id, stage } = await oneSetAside();
    assert.equal(stage, 'claim');
    await lift();
    await retry(id);
    await bad.waitFor(1);
    await queueDrained(database);
  });

test('load: a delivery that cannot be loaded is set aside, and its attempt is made when it is retried', async () => {
  const [bad, good] = [await startReceiver(), await startReceiver()];
  const [badId, goodId] = [await register(bad), await register(good)];
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef('may_receive'::regproc) as definition
  `.execute(database);
  const original = rows[0]?.definition ?? '';
  const lift = async () => void (await sql.raw(original).execute(database));
  lifts.push(lift);
  const divides = `1 / extract(epoch from event_created - '2020-01-01Z')::int is null`;
  await sql.raw(original.replace('select case', `select ${divides} or case`)).execute(database);
  await sql`
    with event as (
      insert into events (id, name, audience, data, position, created_at)
      select uuid_v7(), 'org.created', 'global', '{}', 0, at::timestamptz from unnest(array['2020-01-01Z', '2020-01-03Z']) as at
      returning id, created_at
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, attempt_count, cycle_attempts)
    select uuid_v7(), event.id, 'org.created', case when created_at = '2020-01-01Z' then ${badId}::uuid else ${goodId}::uuid end,
      'redelivery', queue_now(), 5, 5
    from event
  `.execute(database);
  await good.waitFor(1);
  const { id, stage } = await oneSetAside();
  assert.equal(stage, 'load');
  await lift();
  await retry(id);
  await bad.waitFor(1);
  await queueDrained(database);
  const { rows: ended } = await sql`
    select status, attempt_count as attempts from deliveries where webhook_id = ${badId}
  `.execute(database);
  assert.deepEqual(ended, [{ status: 'succeeded', attempts: 6 }]);
});

test('orgdir lists, retries and drops what was set aside or rejected', async () => {
  const env = { DATABASE_URL: toUrl(service.connection), PUBLIC_URL: testPublicUrl };
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await runHere(['events', ...words, '--json'], env);
    return { code, result: JSON.parse(stdout || stderr) };
  };
  const receiver = await startReceiver();
  const webhook = await register(receiver);
  const lift = await refuse('attempts', 'insert', 'true');
  await announce(database);
  await oneSetAside();
  await sql`select publish_event('application.created', '{}', 'acme')`.execute(database);
  const list = async () => {
    const { result } = await run('list', '--rejected');
    return result as (SetAside & { event: string; org: string | null })[];
  };
  const [rejected, aside] = await eventually(async () => {
    const found = await list();
    return found.length === 2 && found;
  });
  assert.deepEqual(
    [rejected?.stage, rejected?.event, rejected?.org, rejected?.code],
    ['intake', 'application.created', 'acme', null],
  );
  assert.deepEqual(
    [aside?.stage, aside?.event, aside?.webhookId, aside?.code],
    ['record', 'org.created', webhook, '22003'],
  );
  const unknown = await run('retry', aside?.id ?? '', webhook);
  assert.deepEqual([unknown.code, unknown.result.error.code], [1, 'not_found']);
  assert.equal((await list()).length, 2, 'none was retried');
  assert.equal((await run('retry')).code, 2);
  assert.equal((await run('retry', aside?.id ?? '', '--all')).code, 2);
  await lift();
  assert.deepEqual((await run('drop', rejected?.id ?? '')).result, { dropped: 1 });
  assert.deepEqual((await run('retry', '--all')).result, { retried: 1 });
  assert.deepEqual((await run('retry', '--all')).result, { retried: 0 });
  await receiver.waitFor(2);
  await queueDrained(database);
  const entries = await listAudit(database, {
    actor: 'cli',
    action: 'event',
    subjectId: null,
    appId: null,
    since: null,
    limit: 10,
  });
  assert.deepEqual(
    entries.map(({ action, subject, details }) => [action, subject.id, details]),
    [
      ['event.retried', aside?.id, { count: 1, ids: [aside?.id] }],
      ['event.dropped', rejected?.id, { count: 1, ids: [rejected?.id] }],
    ],
  );
});

test('a rejected entry is taken in again when it is retried', async () => {
  const receiver = await startReceiver();
  await register(receiver);
  await database.transaction().execute(async (tx) => {
    await sql`
      insert into published_events (id, name, org_id, created_at, rejected_at, reason, xid)
      select uuid_v7(), 'org.created', id, now(), now(), 'not listed', '3' from orgs where slug = 'acme'
    `.execute(tx);
    assert.equal(await retryRejected(tx, await listRefusedIds(tx)), 1);
  });
  await receiver.waitFor(1);
  await queueDrained(database);
});

test('a deleted webhook takes its rows along, and a dropped row is gone', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver);
  const lift = await refuse('attempts', 'insert', 'true');
  await announce(database);
  const { id } = await oneSetAside();
  assert.equal(await drop(id), 1);
  await announce(database);
  await oneSetAside();
  await remove(webhook);
  assert.deepEqual(await setAsideRows(), []);
  await lift();
  await queueDrained(database);
});

test('only errors of the given rows are refusals', () => {
  const withCode = (code: string) => Object.assign(new Error('x'), { code });
  for (const code of ['22003', '23514', '54000']) assert.ok(isRefusal(withCode(code)), code);
  assert.ok(isRefusal(new TypeError('undefined is not a function')));
  for (const code of ['40P01', '55P03', '53100', '25006', '57014', '57P01', '42P01', 'ECONNRESET'])
    assert.ok(!isRefusal(withCode(code)), code);
  assert.ok(!isRefusal(new Error('Connection terminated unexpectedly')));
});

test('the rows before and after a refused one are processed in order', async () => {
  const done: number[] = [];
  const refused: number[] = [];
  await isolateRefused(
    [0, 1, 2, 3, 4, 5, 6],
    async (rows) => {
      if (rows.includes(1) || rows.includes(6)) throw new TypeError('bad');
      done.push(...rows);
    },
    async (row) => void refused.push(row),
  );
  assert.deepEqual(
    [done, refused],
    [
      [0, 2, 3, 4, 5],
      [1, 6],
    ],
  );
});
