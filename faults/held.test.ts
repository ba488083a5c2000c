/** Somebody holds a transaction, a snapshot, every connection or a worker for long, and deliveries go on. */
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openClient, sql } from '../service/src/database/database.ts';
import { commonEvent } from '../harness/publisher.ts';
import { isEmpty, until } from '../harness/world.ts';
import { sized, type Scene } from './scenario.ts';
import { storm } from './storm.ts';

const minuteMs = 60_000;
const heldEvents = 100;
const stepMaxMs = 30_000;

storm('a transaction that publishes and stays open', { webhooks: 1 }, async (scene) => {
  const { publisher } = scene;
  await publisher.publishTogether(commonEvent, heldEvents, async () => {
    // These commit before the held ones, and have later ids.
    await publisher.publishSlowly(20, 50);
    await wait(sized(8_000, 5 * minuteMs));
  });
  await fannedOut(scene);
});

storm(
  'a prepared transaction that publishes',
  {
    webhooks: 1,
    prepare: (scene) => configure(scene, 'max_prepared_transactions = 5'),
  },
  async (scene) => {
    const { database, publisher } = scene;
    const committed = await database.connection().execute(async (connection) => {
      await sql`begin`.execute(connection);
      const commit = await publisher.publishIn(connection, commonEvent, heldEvents);
      await sql`prepare transaction 'storm'`.execute(connection);
      return commit;
    });
    await wait(sized(8_000, 5 * minuteMs));
    await sql`commit prepared 'storm'`.execute(database);
    committed();
    await fannedOut(scene);
  },
);

storm('a snapshot held for long', { webhooks: 10 }, async ({ database, publisher }) => {
  const holding = await database.startTransaction().setIsolationLevel('repeatable read').execute();
  await sql`select from outbox`.execute(holding);
  const deadline = Date.now() + sized(8_000, 10 * minuteMs);
  while (Date.now() < deadline) {
    await publisher.publishTogether(commonEvent, 10);
    await wait(100);
  }
  await holding.commit().execute();
});

storm(
  'max_connections reached',
  { webhooks: 10, workers: 2, prepare: (scene) => configure(scene, 'max_connections = 60') },
  async (scene) => {
    const { database, publisher } = scene;
    // Connected before the slots are taken: a pool may have to open a connection.
    await database.connection().execute(async (operator) => {
      const clients = await connectUntilRefused(scene);
      const publishing = publisher.publishSlowly(sized(100, 500), 50);
      await wait(sized(5_000, minuteMs));
      // One worker loses its connections, and others take them.
      const [first] = scene.processes;
      const losing = wait(sized(5_000, minuteMs));
      await scene.fault(async () => {
        await sql`
          select pg_terminate_backend(pid) from pg_stat_activity where application_name like ${`orgdir%pid ${first?.pid}`}
        `.execute(operator);
        clients.push(...(await connectUntilRefused(scene)));
        await losing;
        for (const client of clients) await client.end();
      });
      await publishing;
    });
  },
);

storm('one of four workers stopped', { webhooks: 10, workers: 4 }, async (scene) => {
  const publishing = scene.publisher.publishSlowly(sized(200, 1_200), 50);
  for (const worker of scene.processes.slice(0, sized(2, 4))) {
    await scene.fault(async () => {
      worker.signal('SIGSTOP');
      await wait(sized(6_000, minuteMs));
      worker.signal('SIGCONT');
    });
    await wait(1_000);
  }
  await publishing;
});

/** Resolves when all common events have their deliveries. */
async function fannedOut({ database }: Scene): Promise<void> {
  await until('fan-out', stepMaxMs, () =>
    isEmpty(database, sql`select from outbox where name = ${commonEvent}`),
  );
}

async function configure({ store }: Scene, line: string): Promise<void> {
  await appendFile(join(store.clusterDir, 'postgresql.conf'), `${line}\n`);
  await store.stop();
  await store.start();
}

type Client = ReturnType<typeof openClient>;

/** Opens as many connections as the server accepts. */
async function connectUntilRefused({ store }: Scene): Promise<Client[]> {
  const clients: Client[] = [];
  for (;;) {
    const client = openClient(store.connection, { applicationName: 'faults holder' });
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (error) {
      assert.equal((error as { code?: string }).code, '53300');
      return clients;
    }
    clients.push(client);
  }
}
