/** Network faults between service and database: cut, stalled and forgotten connections. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { leaseMs } from '../harness/service.ts';
import { startProxy, type Proxy } from '../service/test/support/proxy.ts';
import { scenario, shortMs, type Scene } from './scenario.ts';

const requestsBetween = 1_000;

behindProxy('connections cut, 5 times', 5, async (proxy, scene) => {
  proxy.cut();
  await scene.moment(shortMs);
  proxy.mend();
});

behindProxy('connections stalled past the lease', 1, async (proxy, scene) => {
  proxy.freeze();
  await wait(leaseMs);
  await scene.moment(shortMs);
  proxy.thaw();
});

// Like a firewall that has lost its table: open connections die silently, and new ones work.
behindProxy('connections that never answer again', 1, async (proxy, scene) => {
  proxy.stall();
  await scene.drained();
});

function behindProxy(
  name: string,
  times: number,
  act: (proxy: Proxy, scene: Scene) => Promise<void>,
): void {
  scenario(name, {}, async (scene) => {
    const { host = '', port = 0, user, password, database } = scene.store.connection;
    const proxy = await startProxy({ host, port });
    const login = `${user}:${encodeURIComponent(String(password))}`;
    const worker = scene.startWorker(`postgres://${login}@127.0.0.1:${proxy.port}/${database}`);
    try {
      await worker.started;
      for (let time = 1; time <= times; time += 1)
        await scene.faultAfter(requestsBetween, () => act(proxy, scene));
      await scene.drained();
      assert.equal(worker.hasEnded(), false);
      assert.deepEqual(await worker.stop(), { code: 0, signal: null });
    } finally {
      await worker.kill();
      proxy.close();
    }
  });
}
