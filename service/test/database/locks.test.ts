/** Other sessions hold rows and tables of the queue: only what needs them waits. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, describe, test } from 'node:test';
import { openClient, sql, type Database } from '../../src/database/database.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import { fanOutLock } from '../../src/events/queue-channel.ts';
import { put } from '../support/directory.ts';
import { eventually, within } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver, type Receiver } from '../support/receiver.ts';
import { makeKey, startTestService, type TestService } from '../support/service.ts';

/** How many deliveries each of the two webhooks has had before a test begins. */
const settledCount = 1;

/**
 * An organisation with two webhooks of two apps, and a row everywhere: a bystander, which responds at once, and a victim,
 * which responds when it is told to.
 */
async function openPlace(service: TestService, slug: string) {
  const { database } = service;
  await put(database, 'orgs', [{ slug, name: slug }]);
  const { id: orgId } = (await findOrg(database, slug))!;
  const held: ServerResponse[] = [];
  const [quick, late] = [await startReceiver(), await startReceiver()];
  const register = async ({ url }: Receiver) => {
    const { key, appId } = await makeKey(service, { bindTo: { kind: 'organization', id: orgId } });
    const answer = await service.call('/webhooks', { method: 'POST', key, json: { url } });
    return { id: answer.body.data.id as string, appId };
  };
  const [bystander, victim] = [await register(quick), await register(late)];
  const webhookIds = [bystander.id, victim.id];
  const publish = async (count = 1) => {
    await sql`
      insert into outbox (id, name, audience, org_id, data)
      select uuid_v7(), 'application.created', 'organization', ${orgId}, '{}' from generate_series(1, ${count})
    `.execute(database);
  };
  const isDone = async (count: number) => {
    const { rows } = await sql<{ done: boolean }>`
      select not exists (select from pending_deliveries where webhook_id = any(${webhookIds}::uuid[]))
        and not exists (select from webhook_outcomes where webhook_id = any(${webhookIds}::uuid[]))
        and ${count} * 2 <= (
          select count(*) from deliveries where webhook_id = any(${webhookIds}::uuid[]) and status = 'succeeded'
        ) as done
    `.execute(database);
    return rows[0]?.done === true;
  };
  await publish(settledCount);
  await eventually(() => isDone(settledCount));
  const hold = () => void (late.respond = (response) => void held.push(response));
  const respond = () => {
    late.respond = (response) => void response.writeHead(200).end();
    for (const response of held.splice(0)) response.writeHead(200).end();
  };
  const sentTwice = () => listSentTwice(database, [...quick.received, ...late.received]);
  return { orgId, quick, late, bystander, victim, publish, isDone, hold, respond, sentTwice };
}
type Place = Awaited<ReturnType<typeof openPlace>>;

/** Deliveries that were sent more often than once, and once for each lease that ended and each attempt that took too long. */
async function listSentTwice(
  database: Database,
  received: Receiver['received'],
): Promise<string[]> {
  const { rows } = await sql<{ id: string; ended: number }>`
    select delivery_id as id, count(*) as ended from attempts where error in ('interrupted', 'timeout') group by delivery_id
  `.execute(database);
  const ended = new Map(rows.map((row) => [row.id, row.ended]));
  const sent = Map.groupBy(received, ({ headers }) => headers['webhook-id'] ?? '');
  return [...sent].flatMap(([id, { length }]) => (length > 1 + (ended.get(id) ?? 0) ? id : []));
}

async function openOther({ connection }: TestService) {
  const other = openClient(connection, { applicationName: 'other', statementTimeoutMs: 0 });
  // The database of the test is dropped first.
  other.on('error', () => {});
  await other.connect();
  after(() => other.end());
  return other;
}

/** Leases end while the rows are locked. */
const shortLeases = await startTestService({
  env: {
    ...loopbackAllowed,
    WEBHOOK_TIMEOUT_MS: '2000',
    WEBHOOK_LEASE_MARGIN_MS: '1000',
    WEBHOOK_RETRY_BASE_MS: '100',
  },
  worker: true,
});
const leaseSeconds = 3;

/** A row that the victim needs, and the bystander does not. */
const rowsOf: Record<string, (place: Place) => string> = {
  pending_deliveries: ({ victim }) => `webhook_id = '${victim.id}'`,
  events: ({ victim }) =>
    `id = (select event_id from pending_deliveries where webhook_id = '${victim.id}')`,
  webhooks: ({ victim }) => `id = '${victim.id}'`,
  webhook_health: ({ victim }) => `webhook_id = '${victim.id}'`,
  apps: ({ victim }) => `id = '${victim.appId}'`,
  bindings: ({ victim }) => `app_id = '${victim.appId}'`,
  deliveries: ({ victim }) => `webhook_id = '${victim.id}'`,
  outbox: ({ orgId }) => `org_id = '${orgId}'`,
};

/** As a worker leaves it that died: its event was fanned out, and its lease will end. */
async function leaveLease({ bystander }: Place): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, lease_token, leased_at, cycle_attempts, attempt_count)
    select uuid_v7(), event_id, event, webhook_id, 'redelivery', queue_now() + ${leaseSeconds} * interval '1 second',
      ${randomUUID()}, queue_now(), 1, 1
    from deliveries where webhook_id = ${bystander.id} limit 1
    returning id
  `.execute(shortLeases.database);
  return rows[0]?.id ?? '';
}

/** Whether all of the bystander is recorded, except the event in `outbox` that somebody has locked. */
async function isBystanderDone({ bystander, orgId }: Place, locked: number): Promise<boolean> {
  const { rows } = await sql<{ done: boolean }>`
    select not exists (select from pending_deliveries where webhook_id = ${bystander.id})
      and (select count(*) from outbox where org_id = ${orgId}) = ${locked} as done
  `.execute(shortLeases.database);
  return rows[0]?.done === true;
}

async function isTakenBack(deliveryId: string): Promise<boolean> {
  const { rows } = await sql`
    select from attempts where delivery_id = ${deliveryId} and error = 'interrupted'
  `.execute(shortLeases.database);
  return rows.length === 1;
}

const service = await startTestService({ env: loopbackAllowed, worker: true });
const acme = await openPlace(service, 'acme');
const locker = await openOther(service);
let published = settledCount;

/** Locks a table while an attempt is in flight. Two seconds after the lock, everything has ended. */
async function lockTable(table: string, meanwhile: () => Promise<unknown>) {
  acme.hold();
  await acme.publish();
  await acme.late.waitFor(published + 1);
  await locker.query('begin');
  await locker.query(`lock table ${table} in access exclusive mode`);
  acme.respond();
  const publishing = acme.publish();
  published += 2;
  await meanwhile();
  await locker.query('commit');
  await within(2_000, () => acme.isDone(published));
  await publishing;
  assert.deepEqual(await acme.sentTwice(), []);
  assert.equal(acme.late.received.length, published, 'no lease has ended');
}

describe('next to each other', { concurrency: true }, () => {
  test('after a lock of the whole queue that outlasts statements, all goes on', () =>
    // Statements are cancelled after 15 s.
    lockTable('pending_deliveries', () => locker.query('select pg_sleep(20)')));

  for (const mode of ['update', 'share'])
    for (const [table, rowOf] of Object.entries(rowsOf))
      test(`a locked row of ${table}, for ${mode} and longer than a lease, delays only what needs it`, async () => {
        const place = await openPlace(shortLeases, `${table.replace('_', '-')}-${mode}`);
        const { quick, late, publish } = place;
        const other = await openOther(shortLeases);
        place.hold();
        await publish();
        await late.waitFor(settledCount + 1);
        if (table === 'outbox') {
          await other.query(`select pg_advisory_lock(${fanOutLock})`);
          await publish();
        }
        await other.query('begin');
        const where = rowOf(place);
        const { rowCount } = await other.query(`select from ${table} where ${where} for ${mode}`);
        assert.ok((rowCount ?? 0) > 0, 'there is a row');
        if (table === 'outbox') await other.query(`select pg_advisory_unlock(${fanOutLock})`);
        // The attempt under way ends while the row is locked.
        place.respond();
        const crashed = await leaveLease(place);
        await publish(3);
        await quick.waitFor(settledCount + 4);
        // All leases from before the lock have ended when this one has.
        await eventually(() => isTakenBack(crashed));
        await eventually(() => isBystanderDone(place, Number(table === 'outbox')));
        await other.query(table === 'outbox' ? `delete from outbox where ${where}` : 'select');
        await other.query('commit');
        await eventually(() => place.isDone(settledCount + 4));
        assert.deepEqual(await place.sentTwice(), []);
      });
});

test('however many events somebody has locked, later ones are delivered', async () => {
  const { orgId, quick, publish, isDone } = await openPlace(shortLeases, 'many-locked');
  const locked = 300;
  const other = await openOther(shortLeases);
  await other.query(`select pg_advisory_lock(${fanOutLock})`);
  // Each in a transaction of its own.
  for (let count = 0; count < locked; count += 1) await publish();
  await other.query('begin');
  await other.query(`select from outbox where org_id = '${orgId}' for update`);
  await other.query(`select pg_advisory_unlock(${fanOutLock})`);
  await publish();
  await quick.waitFor(settledCount + 1);
  await other.query('commit');
  await eventually(() => isDone(settledCount + locked + 1));
});

for (const table of Object.keys(rowsOf))
  test(`after a lock of the whole table ${table}, all goes on`, () =>
    lockTable(table, () =>
      eventually(async () => {
        const { rowCount } = await locker.query(
          `select from pg_locks where relation = '${table}'::regclass and not granted
           union all select where (select count(*) from pending_deliveries) + (select count(*) from outbox) = 0`,
        );
        return rowCount;
      }),
    ));
