/** Recovery next to other work: which sessions it blocks, and where the recovered deliveries wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql, type Transaction } from '../../../src/database/database.ts';
import { countRecoverable, recover } from '../../../src/webhooks/replay/replay.ts';
import { redeliver } from '../../../src/webhooks/replay/redeliver.ts';
import { testActor } from '../../support/actor.ts';
import { countRows } from '../../support/count-rows.ts';
import { eventually } from '../../support/eventually.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const service = await startTestService();
const { database } = service;

async function makeWebhook(): Promise<{ id: string; appId: string }> {
  const { key, appId } = await makeKey(service);
  const json = { url: 'https://example.org/' };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  return { id: body.data.id, appId };
}

/** Deliveries that failed, made some days ago. Returns their ids. */
async function fail(webhookId: string, count: number, completedAt = new Date()): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with event as (
      insert into events (id, name, audience, data, position) values (uuid_v7(), 'org.created', 'global', '{}', 1) returning id
    )
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
    select uuid_v7(), event.id, 'org.created', ${webhookId}, 'failed', 6, now(), ${completedAt.toISOString()}::timestamptz
    from event, generate_series(1, ${count}) returning id
  `.execute(database);
  return rows.map(({ id }) => id);
}

const inTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
  database.transaction().execute(work);
const hourAgo = () => new Date(Date.now() - 3_600_000);

test('recovery skips older and succeeded deliveries, and its preview counts the same', async () => {
  const { id, appId } = await makeWebhook();
  await fail(id, 2, new Date(Date.now() - 7_200_000));
  const [delivered] = await fail(id, 1);
  await sql`update deliveries set status = 'succeeded' where id = ${delivered}`.execute(database);
  await fail(id, 3);
  assert.equal(await countRecoverable(database, testActor, { appId, webhookId: id }, hourAgo()), 3);
  assert.equal(
    await inTransaction((tx) => recover(tx, testActor, { appId, webhookId: id }, hourAgo(), [])),
    3,
  );
});

test('recovered and redelivered deliveries are due at once and not parked', async () => {
  const { id, appId } = await makeWebhook();
  const [one = ''] = await fail(id, 3);
  const due = async () =>
    (
      await sql<{ due: number }>`
        select count(*) as due from pending_deliveries
        where webhook_id = ${id} and not parked and lease_token is null and due_at <= queue_now() + interval '1 millisecond'
      `.execute(database)
    ).rows[0]?.due;
  await inTransaction((tx) => redeliver(tx, appId, id, one));
  assert.equal(await due(), 1);
  await inTransaction((tx) => recover(tx, testActor, { appId, webhookId: id }, hourAgo(), []));
  assert.equal(await due(), 3);
});

test('concurrent recoveries queue each delivery once', async () => {
  const { id, appId } = await makeWebhook();
  const count = 2_000;
  await fail(id, count);
  const back = await Promise.all(
    [1, 2, 3].map(() =>
      inTransaction((tx) => recover(tx, testActor, { appId, webhookId: id }, hourAgo(), [])),
    ),
  );
  assert.equal(
    back.reduce((sum, one) => sum + one, 0),
    count,
  );
});

test('recovery chooses without blocking recording, and checks again before it moves', async () => {
  const { id, appId } = await makeWebhook();
  await fail(id, 1);
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let locked: () => void = () => {};
  const isLocked = new Promise<void>((resolve) => (locked = resolve));
  const recording = inTransaction(async (tx) => {
    await sql`select from webhooks where id = ${id} for update`.execute(tx);
    locked();
    await released;
    await sql`
      update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'gone' where id = ${id}
    `.execute(tx);
  });
  await isLocked;
  const recovering = inTransaction((tx) =>
    recover(tx, testActor, { appId, webhookId: id }, hourAgo(), []),
  ).catch((error: unknown) => error as { code: string });
  // It has chosen, and waits for the webhook.
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query like '%for share%'
        and datname = current_database()
    `.execute(database);
    return rows.length === 1;
  });
  release();
  await recording;
  assert.equal(((await recovering) as { code: string }).code, 'conflict');
  assert.equal(await countRows(database, sql`pending_deliveries where webhook_id = ${id}`), 0);
});
