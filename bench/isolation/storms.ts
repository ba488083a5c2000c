/** Troubles that many requests, locks and connections make, on PostgreSQL with four workers. */
import { join } from 'node:path';
import { deleteApp } from '../../service/src/access/apps.ts';
import { sql, type Transaction } from '../../service/src/database/database.ts';
import { requeue } from '../../service/src/webhooks/replay/requeue.ts';
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
  'a transaction publishes and stays open': staysOpen,
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

async function staysOpen({ holdOpen }: World) {
  return { strike: () => holdOpen((tx) => publish(tx, 1), minute), seconds: minute };
}

/** Rows that are deleted meanwhile stay where looks must step over them. */
async function heldSnapshot({ holdOpen }: World) {
  const hold = (tx: Transaction) =>
    sql`select pg_current_snapshot(), pg_current_xact_id()`.execute(tx);
  return { strike: () => holdOpen(hold, minute), seconds: minute };
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

async function publish(tx: Transaction, count: number): Promise<void> {
  const application = { id: 'a', applicantHandle: 'bench', submittedAt: new Date().toISOString() };
  await sql`
    select publish_event('application.created', ${JSON.stringify(application)}::text, ${troubled})
    from generate_series(1, ${count}::int)
  `.execute(tx);
}
