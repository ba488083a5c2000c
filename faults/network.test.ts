/** Network faults between service and database: cut, stalled and forgotten connections. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { startProxy, type Proxy } from '../service/test/support/proxy.ts';
import { endsInTime, scenario } from './scenario.ts';
import { leaseMs, type World } from './world.ts';

const requestsBetween = 1_000;
const longestMomentMs = 150;

scenario('connections cut, 5 times', {}, async (world) => {
  await behindProxy(world, async (proxy, url) => {
    const worker = world.startWorker(url);
    await worker.started;
    for (let time = 1; time <= 5; time += 1) {
      await world.receivers.more(requestsBetween);
      await world.moment(longestMomentMs);
      await world.fault(async () => {
        proxy.cut();
        await world.moment(longestMomentMs);
        proxy.mend();
      });
    }
    await world.drained();
    await stop(worker);
  });
});

scenario('connections stalled past the lease', {}, async (world) => {
  await behindProxy(world, async (proxy, url) => {
    const worker = world.startWorker(url);
    await worker.started;
    await world.receivers.more(requestsBetween);
    await world.moment(longestMomentMs);
    await world.fault(async () => {
      proxy.freeze();
      await wait(leaseMs);
      await world.moment(longestMomentMs);
      proxy.thaw();
    });
    await world.drained();
    await stop(worker);
  });
});

// Like a firewall that has lost its table: open connections die silently, and new ones work.
scenario('connections that never answer again', {}, async (world) => {
  await behindProxy(world, async (proxy, url) => {
    const worker = world.startWorker(url);
    await worker.started;
    await world.receivers.more(requestsBetween);
    await world.moment(longestMomentMs);
    await world.fault(async () => {
      proxy.stall();
      await world.drained();
    });
    await stop(worker);
  });
});

async function behindProxy(
  { store, workers }: World,
  act: (proxy: Proxy, url: string) => Promise<void>,
): Promise<void> {
  const { host, port, user, password, database } = store.connection;
  const proxy = await startProxy({ host: host ?? '', port: port ?? 0 });
  try {
    const address = `127.0.0.1:${proxy.port}`;
    await act(
      proxy,
      `postgres://${user}:${encodeURIComponent(String(password))}@${address}/${database}`,
    );
  } finally {
    for (const worker of workers) if (!worker.hasEnded()) await worker.kill();
    proxy.close();
  }
}

async function stop(worker: World['workers'][number]): Promise<void> {
  assert.equal(worker.hasEnded(), false);
  worker.signal('SIGTERM');
  await endsInTime(worker.ended);
  assert.deepEqual(await worker.ended, { code: 0, signal: null });
}
