/**
 * Tests that looks for work stay cheap next to rows that are gone but in somebody's snapshot, such as a dump's. Each reads
 * many pages from the beginning, and few from where an earlier look ended.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { createDatabaseClock } from '../../src/database/clock.ts';
import { openClient, openDatabase, sql, type Executor } from '../../src/database/database.ts';
import { Revisions } from '../../src/database/revisions.ts';
import { Session } from '../../src/database/session.ts';
import { ingestPublished } from '../../src/directory/ingest-published.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import {
  claimParked,
  listParked,
  type ParkedSince,
} from '../../src/webhooks/queue/dispatch/claim.ts';
import { findWork } from '../../src/webhooks/queue/find-work.ts';
import { joinWorkers } from '../../src/webhooks/queue/workers.ts';
import { recordAttempts } from '../../src/webhooks/queue/record/record.ts';
import { recoverLeases } from '../../src/webhooks/queue/record/recover-leases.ts';
import { createHealth } from '../../src/system/health.ts';
import { updateWebhookHealth } from '../../src/webhooks/queue/health/update-webhook-health.ts';
import { queueSettings } from '../../src/webhooks/queue/worker.ts';
import { openTestDatabase } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { pagesOf } from '../support/pages.ts';
import { loadDeliveries } from '../../src/webhooks/queue/dispatch/load-deliveries.ts';
import {
  attemptOf,
  claimWith,
  fanOutWith,
  insertLeased,
  newLease,
  succeeded,
} from '../support/queue-steps.ts';
import { makeKey, testPublicUrl } from '../support/service.ts';

const { database, connection } = await openTestDatabase();
const { appId } = await makeKey({ database });
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const org = (await findOrg(database, 'acme'))!;
const { rows: webhooks } = await sql<{ id: string }>`
  insert into webhooks (id, app_id, url, secret)
  values (uuid_v7(), ${appId}, ${`https://example.org/${'long'.repeat(400)}`}, '') returning id
`.execute(database);
const webhookId = webhooks[0]?.id ?? '';
const worker = openDatabase(connection, {
  applicationName: 'test',
  poolSize: 1,
  settings: queueSettings,
});
after(() => worker.destroy());

const tables = ['outbox', 'published_events', 'pending_deliveries', 'webhook_outcomes'];
// The pages that autovacuum reads are counted as well.
await sql`
  do $$ declare name text; begin
    for name in select oid::regclass from pg_class where relkind = 'r' and relnamespace = 'orgdir'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = false)', name);
    end loop;
  end $$
`.execute(database);

const rowsGone = 5_000;
/** Longer ago than any transaction takes. */
const dueAtMs = Date.now() - 60_000;
const afterDue = (ms: number) => new Date(dueAtMs + ms).toISOString();

/** Fills the queue, and empties it while a snapshot sees it. Returns the transaction that emptied it. */
async function leaveRows(): Promise<bigint> {
  await sql`
    insert into published_events (id, name, org_id, data, created_at)
    select uuid_v7(), 'application.created', ${org.id}, '{}', now() from generate_series(1, ${rowsGone}::int)
  `.execute(database);
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked, lease_token, leased_at)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', ${new Date(dueAtMs)}, state.*
    from generate_series(1, ${rowsGone}::int),
      (values (true, null, null), (false, null, null), (false, gen_random_uuid(), now())) as state
  `.execute(database);
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, gone)
    select ${webhookId}, 'succeeded', false from generate_series(1, ${rowsGone}::int)
  `.execute(database);
  const reader = openClient(connection, { applicationName: 'test reader' });
  // The test database is deleted before the reader ends.
  reader.on('error', () => {});
  after(() => reader.end());
  await reader.connect();
  await reader.query('begin isolation level repeatable read; select from webhooks');
  return database.transaction().execute(async (tx) => {
    for (const table of tables) await sql`delete from ${sql.table(table)}`.execute(tx);
    return readXid(tx);
  });
}

async function readXid(executor: Executor): Promise<bigint> {
  const { rows } = await sql<{ xid: string }>`
    select pg_current_xact_id()::text as xid
  `.execute(executor);
  return BigInt(rows[0]?.xid ?? 0);
}

const workerId = uuidv7();
const emptiedBy = await leaveRows();

/** Once no transaction of another test from before `xid` holds them back. */
function readFloors(xid: bigint) {
  return eventually(async () => {
    const work = await findWork(worker, bottom, 0);
    const { outcomesFloor: outcomes } = await joinWorkers(worker, uuidv7());
    const found = { events: work.eventsFloor, published: work.publishedFloor, outcomes };
    return Object.values(found).every((floor) => BigInt(floor) > xid) && found;
  });
}

const bottom = { published: '0', events: '0', outcomes: '0' };
const floors = await readFloors(emptiedBy);
const parkedSince: ParkedSince = new Map();
await sql`
  insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked)
  values (uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', queue_now(), true)
`.execute(database);
await claimParked(worker, newLease(), new Map([[webhookId, 8]]), parkedSince);

const revisions = new Revisions(worker, new Session(connection), createDatabaseClock());
const health = createHealth(worker, revisions);

const looks: Record<string, (isFull: boolean) => Promise<unknown>> = {
  'looks for entries published by SQL': (isFull) => findWork(worker, isFull ? bottom : floors, 0),
  'intake of entries published by SQL': (isFull) =>
    ingestPublished(worker, testPublicUrl, isFull ? '0' : floors.published),
  'claims of parked deliveries': (isFull) =>
    claimParked(
      worker,
      newLease(),
      new Map([[webhookId, 8]]),
      isFull ? new Map() : new Map(parkedSince),
    ),
  'claims of due deliveries': (isFull) =>
    claimWith(worker, {
      since: afterDue(5_000),
      lookBackMs: isFull ? 20_000 : 100,
    }),
  'looks for leases that have ended': (isFull) =>
    recoverLeases(worker, {
      backoff: { baseMs: 1, factor: 1 },
      since: isFull ? null : afterDue(25_000),
    }),
  'refreshes of the status': async (isFull) => {
    const one = isFull ? createHealth(worker, revisions) : health;
    await one.start();
    await one.stop();
  },
  'lists of webhooks with parked deliveries': (isFull) =>
    listParked(worker, '00000000-0000-0000-0000-000000000000', isFull ? null : afterDue(30_000)),
  'joining the processes that deliver': (isFull) =>
    joinWorkers(worker, uuidv7(), isFull ? '0' : floors.outcomes),
  'updates of the health of webhooks': (isFull) =>
    updateWebhookHealth(worker, 5, isFull ? '0' : floors.outcomes),
};

for (const [name, look] of Object.entries(looks))
  test(`${name} read few pages next to rows that a snapshot keeps`, async () => {
    await look(false);
    const [full, few] = [
      await pagesOf(worker, () => look(true)),
      await pagesOf(worker, () => look(false)),
    ];
    assert.ok(few * 4 <= full, `${few} pages, and ${full} from the beginning`);
  });

test('the record of an attempt reads few pages next to outcomes that a snapshot keeps', async () => {
  const record = async (floor: string) => {
    const attempt = attemptOf(await insertLeased(worker, webhookId), succeeded);
    return pagesOf(worker, () => recordAttempts(worker, [attempt], floor));
  };
  await record('0');
  await sql`delete from webhook_outcomes`.execute(worker);
  const [full, few] = [await record('0'), await record(floors.outcomes)];
  assert.ok(few * 4 <= full, `${few} pages, and ${full} from the beginning`);
});

test('an update of the health of webhooks begins where the last one ended', async () => {
  await noteOutcome('succeeded', 2_000);
  const noted = await readXid(worker);
  // Once no transaction of another test holds it back.
  const floor = await eventually(async () => {
    const updated = await updateWebhookHealth(worker, 5, floors.outcomes);
    return updated.floor !== null && BigInt(updated.floor) >= noted && updated.floor;
  });
  const update = (from: string) => pagesOf(worker, () => updateWebhookHealth(worker, 5, from));
  const [full, few] = [await update(floors.outcomes), await update(floor)];
  assert.ok(few * 4 <= full, `${few} pages, and ${full} from before`);
});

test('no statement reads many more pages after hundreds of updates of health that a snapshot keeps', async () => {
  await updateWebhookHealth(worker, 5);
  const before = await leastPagesOfEach();
  for (let turn = 0; turn < 150; turn += 1) {
    await noteOutcome(turn % 2 === 0 ? 'retry' : 'succeeded');
    await updateWebhookHealth(worker, 5, floors.outcomes);
  }
  const later = await leastPagesOfEach();
  for (const [name, read] of Object.entries(later)) {
    // One that steps over each update reads hundreds more; a few more are those of other tests.
    const few = (before[name] ?? 0) * 1.25 + 16;
    assert.ok(read <= few, `${name}: ${read} pages, and ${before[name]} before`);
  }
});

/** A statement that is planned again reads more pages than its execution. */
async function leastPagesOfEach(): Promise<Record<string, number>> {
  const [least, ...others] = [await pagesOfEach(), await pagesOfEach(), await pagesOfEach()];
  for (const other of others)
    for (const [name, read] of Object.entries(other))
      least[name] = Math.min(least[name] ?? read, read);
  return least;
}

/** Of one event on its way through the queue. */
async function pagesOfEach(): Promise<Record<string, number>> {
  const { events, outcomes } = await readFloors(await readXid(database));
  await sql`
    insert into outbox (id, name, audience, data, created_at)
    values (uuid_v7(), 'org.created', 'global', '{}', now())
  `.execute(database);
  const leased = { ...(await insertLeased(worker, webhookId)), leaseEndsAt: Infinity };
  const steps: Record<string, () => Promise<unknown>> = {
    'fan-out': () => fanOutWith(worker, { floor: events }),
    load: () => loadDeliveries(worker, [leased]),
    record: () => recordAttempts(worker, [attemptOf(leased)], outcomes),
    health: () => updateWebhookHealth(worker, 5, outcomes),
    join: () => joinWorkers(worker, workerId, outcomes),
  };
  const read: Record<string, number> = {};
  for (const [name, step] of Object.entries(steps)) read[name] = await pagesOf(worker, step);
  return read;
}

async function noteOutcome(verdict: 'succeeded' | 'retry', count = 1): Promise<void> {
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, status_code, gone)
    select ${webhookId}, ${verdict}, 200, false from generate_series(1, ${count}::int)
  `.execute(worker);
}

test('a commit to the directory reads no more pages after hundreds of others that a snapshot keeps', async () => {
  // Hidden and shown again, too, which looks at what this transaction has noted.
  const write = () =>
    sql`update orgs set member_count = member_count + 1, listed = not listed where id = ${org.id}`.execute(
      worker,
    );
  // Those of this statement, of its triggers and of the end of its transaction, without the row's own versions.
  const pagesOfNotes = async () => {
    const read = async () => {
      await sql`select pg_stat_force_next_flush()`.execute(worker);
      const { rows } = await sql<{ pages: number }>`
        select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as pages
        from pg_statio_user_tables where relname in ('search_changes', 'list_totals')
      `.execute(worker);
      return rows[0]?.pages ?? Number.NaN;
    };
    const before = await read();
    await write();
    return (await read()) - before;
  };
  // Plans of functions are made in the first few calls of a session.
  for (let turn = 0; turn < 20; turn += 1) await write();
  const first = await pagesOfNotes();
  for (let turn = 0; turn < 250; turn += 1) await write();
  const last = await pagesOfNotes();
  assert.ok(last <= 3 * first, `${first} pages, and then ${last}`);
});
