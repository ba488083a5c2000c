/** Other sessions hold rows and tables of the queue: only what needs them waits. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { openClient, sql } from '../../src/database/database.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import { fanOutLock } from '../../src/webhooks/queue/fan-out/fan-out.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { queueDrained } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService({ env: loopbackAllowed, worker: true });
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const { id: acme } = (await findOrg(database, 'acme'))!;

const other = openClient(service.connection, { applicationName: 'other', statementTimeoutMs: 0 });
// The database of the test is dropped first.
other.on('error', () => {});
await other.connect();
after(() => other.end());

/** A webhook that responds at once, and one that responds when it is told to. */
const quick = await startReceiver();
const held: ServerResponse[] = [];
const late = await startReceiver((response) => void held.push(response));
const [bystander, victim] = [await register(quick.url), await register(late.url)];

async function register(url: string): Promise<{ id: string; appId: string }> {
  const { key, appId } = await makeKey(service, { bindTo: { kind: 'organization', id: acme } });
  const answer = await service.call('/webhooks', { method: 'POST', key, json: { url } });
  return { id: answer.body.data.id, appId };
}

function respondToAll(): void {
  for (const response of held.splice(0)) response.writeHead(500).end();
}

/** One round in which the victim fails once, so that it has a row everywhere. Each failure is a retry in ten seconds. */
await announce(database);
await late.waitFor(1);
respondToAll();
await eventually(async () => {
  const { rows } = await sql`select from webhook_health where webhook_id = ${victim.id}`.execute(
    database,
  );
  return rows.length > 0;
});
// A first delivery that ends, for the row in `deliveries`.
await sql`update pending_deliveries set due_at = queue_now()`.execute(database);
late.respond = (response) => void response.writeHead(200).end();
await queueDrained(database);
late.respond = (response) => void held.push(response);

const rowsOf: Record<string, string> = {
  pending_deliveries: `webhook_id = '${victim.id}'`,
  events: `id = (select event_id from pending_deliveries where webhook_id = '${victim.id}')`,
  webhooks: `id = '${victim.id}'`,
  webhook_health: `webhook_id = '${victim.id}'`,
  apps: `id = '${victim.appId}'`,
  bindings: `app_id = '${victim.appId}'`,
  deliveries: `webhook_id = '${victim.id}'`,
  outbox: 'true',
};

/** As a worker leaves it that died: its event was fanned out, its lease has ended. */
async function leaveLease(): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, lease_token, leased_at, cycle_attempts, attempt_count)
    select uuid_v7(), event_id, event, webhook_id, 'redelivery', queue_now(), ${randomUUID()}, queue_now() - interval '30 seconds', 1, 1
    from deliveries where webhook_id = ${bystander.id} limit 1
    returning id
  `.execute(database);
  return rows[0]?.id ?? '';
}

async function waitingOf(webhookId: string): Promise<number> {
  const { rows } = await sql`
    select from pending_deliveries where webhook_id = ${webhookId} and lease_token is not null
    union all select from outbox
  `.execute(database);
  return rows.length;
}

async function attemptsOf(since: number) {
  const ids = late.received.slice(since).map(({ headers }) => headers['webhook-id']);
  return { requests: ids.length, deliveries: new Set(ids).size };
}

for (const mode of ['update', 'share'])
  for (const [table, where] of Object.entries(rowsOf))
    test(`a row of ${table} that is locked for ${mode} delays only what needs it`, async () => {
      const before = late.received.length;
      const quickBefore = quick.received.length;
      await announce(database);
      await late.waitFor(before + 1);
      if (table === 'outbox') {
        await other.query(`select pg_advisory_lock(${fanOutLock})`);
        await announce(database);
      }
      await other.query('begin');
      const { rowCount } = await other.query(`select from ${table} where ${where} for ${mode}`);
      assert.ok((rowCount ?? 0) > 0, 'there is a row');
      if (table === 'outbox') await other.query(`select pg_advisory_unlock(${fanOutLock})`);
      // The attempt in flight ends while the row is locked.
      late.respond = (response) => void response.writeHead(200).end();
      for (const response of held.splice(0)) response.writeHead(200).end();
      const recovered = await leaveLease();
      for (let count = 0; count < 3; count += 1) await announce(database);
      await quick.waitFor(quickBefore + 4);
      await eventually(async () => {
        const { rows } = await sql<{ number: number }>`
          select from pending_deliveries where id = ${recovered} and lease_token is null
        `.execute(database);
        return rows.length === 1;
      });
      await eventually(async () => (await waitingOf(bystander.id)) <= Number(table === 'outbox'));
      await other.query(table === 'outbox' ? 'delete from outbox' : 'select');
      await other.query('commit');
      await sql`delete from pending_deliveries where id = ${recovered}`.execute(database);
      await queueDrained(database);
      const { requests, deliveries } = await attemptsOf(before);
      assert.deepEqual([requests, deliveries], [4, 4], 'nothing was sent twice');
      late.respond = (response) => void held.push(response);
    });

for (const table of Object.keys(rowsOf))
  test(`after a lock of the whole table ${table}, all goes on`, async () => {
    const before = late.received.length;
    await announce(database);
    await late.waitFor(before + 1);
    await other.query('begin');
    await other.query(`lock table ${table} in access exclusive mode`);
    late.respond = (response) => void response.writeHead(200).end();
    for (const response of held.splice(0)) response.writeHead(200).end();
    const published = announce(database);
    await eventually(async () => {
      const { rowCount } = await other.query(
        `select from pg_locks where relation = '${table}'::regclass and not granted
         union all select where (select count(*) from pending_deliveries) + (select count(*) from outbox) = 0`,
      );
      return rowCount;
    });
    await other.query('commit');
    const releasedAt = performance.now();
    await published;
    await late.waitFor(before + 2);
    await queueDrained(database);
    assert.ok(performance.now() - releasedAt < 5_000, 'within seconds');
    const { requests, deliveries } = await attemptsOf(before);
    assert.deepEqual([requests, deliveries], [2, 2], 'nothing was sent twice');
    late.respond = (response) => void held.push(response);
  });
