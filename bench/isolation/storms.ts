/** Troubles that many requests, locks and connections make, on PostgreSQL with four workers. */
import { join } from 'node:path';
import { deleteApp } from '../../service/src/access/apps.ts';
import { sql, type Executor, type Transaction } from '../../service/src/database/database.ts';
import { rotateSecret } from '../../service/src/webhooks/management/rotate-secret.ts';
import { replay, runReplay } from '../../service/src/webhooks/replay/replay.ts';
import { requeue } from '../../service/src/webhooks/replay/redeliver.ts';
import { until } from '../../harness/world.ts';
import { startProcess } from '../start-process.ts';
import type { Trouble } from './troubles.ts';
import { troubled, type World } from './world.ts';

const actor = { kind: 'system', id: null, name: 'bench' } as const;
/** Longer than a lease, and than the pauses of most tasks. */
const minute = 60;

export const storms: Record<string, Trouble> = {
  'redelivery of 10,000': redelivery,
  '10,000 webhooks die at once': allDie,
  'an app is deleted with 10,000 pending': appDeleted,
  'restart over 100,000 parked deliveries': restartOverParked,
  '50,000 events in one transaction': manyInOne,
  'a replay of 10,000 events next to new ones': replayMissed,
  'URL, secret, binding and listing change before attempts': changedBeforeAttempts,
  'a transaction publishes and stays open': staysOpen,
  'a prepared transaction publishes': prepared,
  'a snapshot is held': heldSnapshot,
  'max_connections is reached': noConnections,
  'one of four workers is stopped for a minute': stoppedWorker,
  '1,000 publishers ignore Retry-After': publishersInsist,
};

async function redelivery({ subscribe, receiver, system: { database } }: World) {
  await subscribe(20, '/hook');
  await publishInOne(database, 500);
  await receiver.ask({ do: 'wait', count: 10_000 });
  return {
    async strike() {
      const { rows } = await sql<{ appId: string; webhookId: string; ids: string[] }>`
        select w.app_id as "appId", w.id as "webhookId", array_agg(d.id) as ids
        from deliveries d join webhooks w on w.id = d.webhook_id where w.url like '%/hook/%' group by w.id
      `.execute(database);
      await database.transaction().execute(async (tx) => {
        for (const { appId, webhookId, ids } of rows) await requeue(tx, appId, webhookId, ids);
      });
    },
  };
}

async function allDie({ subscribe, receiver, publisher, repeat }: World) {
  await subscribe(10_000, '/hook');
  await publisher.publish(troubled);
  await receiver.ask({ do: 'wait', count: 10_000 });
  return {
    async strike() {
      await receiver.ask({ do: 'silence' });
      repeat(5_000, () => publisher.publish(troubled));
    },
  };
}

/** All its receivers are silent, so most deliveries are parked. */
async function appDeleted({ subscribe, system: { database } }: World) {
  await subscribe(20, '/silent');
  await publishInOne(database, 500);
  return {
    async strike() {
      const { rows } = await sql<{ id: string }>`
        select app_id as id from webhooks where url like '%/silent/%' limit 1
      `.execute(database);
      await database.transaction().execute((tx) => deleteApp(tx, actor, rows[0]?.id as string));
    },
  };
}

async function restartOverParked({ subscribe, system }: World) {
  await subscribe(100, '/silent');
  await publishInOne(system.database, 1_000);
  return { strike: () => system.restart() };
}

async function manyInOne({ subscribe, system: { database } }: World) {
  await subscribe(1, '/hook');
  return { strike: () => publishInOne(database, 50_000), seconds: minute };
}

/** Missed while the webhook was inactive. */
async function replayMissed({ subscribe, publisher, repeat, system: { database } }: World) {
  await subscribe(1, '/hook');
  const { rows } = await sql<{ appId: string; webhookId: string }>`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'gone' where url like '%/hook/%'
    returning app_id as "appId", id as "webhookId"
  `.execute(database);
  const [webhook] = rows;
  if (!webhook) throw new Error('there is no webhook');
  const since = new Date();
  await publishInOne(database, 10_000);
  await until('fan-out', 5 * minute * 1_000, async () => {
    const waiting = await sql`
      select from published_events union all select from outbox limit 1
    `.execute(database);
    return waiting.rows.length === 0;
  });
  await sql`
    update webhooks set active = true, deactivated_at = null, deactivated_reason = null where id = ${webhook.webhookId}
  `.execute(database);
  return {
    seconds: minute,
    async strike() {
      const range = { since, until: new Date() };
      const { missed } = await runReplay(database, webhook.appId, (tx, aside) =>
        replay(tx, actor, webhook, range, aside),
      );
      if (missed < 10_000) throw new Error(`${missed} events were missed`);
      repeat(20, () => publisher.publish(troubled));
    },
  };
}

/** Their receivers take long enough for deliveries to wait for their turn, leased. */
async function changedBeforeAttempts({ subscribe, publisher, repeat, system }: World) {
  const { database, secretBox } = system;
  await subscribe(40, '/after-301');
  type Webhook = { id: string; appId: string };
  const { rows: webhooks } = await sql<Webhook>`
    select id, app_id as "appId" from webhooks where url like '%/after-301/%'
  `.execute(database);
  const changes: ((tx: Transaction, webhook: Webhook) => Promise<unknown>)[] = [
    (tx, { id }) => sql`update webhooks set url = url || '0' where id = ${id}`.execute(tx),
    (tx, { id, appId }) => rotateSecret(tx, actor, appId, id, 0, secretBox),
    (tx, { appId }) =>
      sql`update bindings set created_at = now() where app_id = ${appId}`.execute(tx),
    (tx) => sql`update orgs set listed = not listed where slug = ${troubled}`.execute(tx),
  ];
  let count = 0;
  return {
    seconds: minute,
    async strike() {
      repeat(50, () => publisher.publish(troubled));
      repeat(100, async () => {
        const change = changes[count % changes.length];
        const webhook = webhooks[count % webhooks.length];
        count += 1;
        if (change && webhook) await database.transaction().execute((tx) => change(tx, webhook));
      });
    },
  };
}

async function staysOpen({ holdOpen, heldSeconds: seconds }: World) {
  return { strike: () => holdOpen((tx) => publish(tx, 1), seconds), seconds };
}

/** As after a coordinator of distributed transactions has died. */
async function prepared({ system: { database }, cleanUps, heldSeconds: seconds }: World) {
  return {
    seconds,
    async strike() {
      await database.connection().execute(async (connection) => {
        await sql`begin`.execute(connection);
        await publish(connection, 1);
        await sql`prepare transaction 'bench'`.execute(connection);
      });
      cleanUps.defer(async () => void (await sql`rollback prepared 'bench'`.execute(database)));
    },
  };
}

/** Rows that are deleted meanwhile stay where looks must step over them. */
async function heldSnapshot({ holdOpen, heldSeconds }: World) {
  const hold = (tx: Transaction) =>
    sql`select pg_current_snapshot(), pg_current_xact_id()`.execute(tx);
  const seconds = 2 * heldSeconds;
  return { strike: () => holdOpen(hold, seconds), seconds };
}

/** Somebody else's connections take every place. The service keeps those that it has open. */
async function noConnections({ system: { database, openClient }, cleanUps }: World) {
  return {
    seconds: minute,
    async strike() {
      const { rows } = await sql<{ free: number }>`
        select current_setting('max_connections')::int - count(*)::int as free from pg_stat_activity
        where backend_type in ('client backend', 'walsender')
      `.execute(database);
      const clients = Array.from({ length: rows[0]?.free ?? 0 }, openClient);
      for (const client of clients) cleanUps.defer(() => client.end());
      await Promise.allSettled(clients.map((client) => client.connect()));
    },
  };
}

/** What it holds when it stops is not counted, because it was published before. */
async function stoppedWorker({ system, cleanUps }: World) {
  return {
    seconds: minute,
    async strike() {
      const [pid] = await system.workerPids();
      process.kill(pid as number, 'SIGSTOP');
      cleanUps.defer(() => void process.kill(pid as number, 'SIGCONT'));
    },
  };
}

/** As after a failover, all connections to the database end at the same moment. */
async function publishersInsist({ system, key, cleanUps }: World) {
  return {
    seconds: minute,
    async strike() {
      const publishers = await startProcess(join(import.meta.dirname, 'publishers-process.ts'), {
        args: [system.internalUrl, key, troubled, '1000'],
        listens: false,
      });
      cleanUps.defer(() => publishers.stop());
      await publishers.said;
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name not like 'orgdir bench%' and pid <> pg_backend_pid()
      `.execute(system.database);
    },
  };
}

async function publishInOne(database: World['system']['database'], count: number): Promise<void> {
  await database.transaction().execute((tx) => publish(tx, count));
}

async function publish(executor: Executor, count: number): Promise<void> {
  const application = { id: 'a', applicantHandle: 'bench', submittedAt: new Date().toISOString() };
  await sql`
    select publish_event('application.created', ${JSON.stringify(application)}::text, ${troubled})
    from generate_series(1, ${count}::int)
  `.execute(executor);
}
