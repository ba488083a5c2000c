/** Publishers that give up after a second and send again at once, whatever `Retry-After` says, before and after an outage. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { openEventsApi } from '../harness/events-api.ts';
import { commonRequest } from '../harness/publisher.ts';
import { makePlatformKey } from '../harness/subscribers.ts';
import { until } from '../harness/world.ts';
import { sized, type Scene } from './scenario.ts';
import { storm } from './storm.ts';

const publishers = 1_000;
const giveUpMs = 1_000;
const usualMs = 3_000;
const hangsMs = sized(6_000, 30_000);
/** Seconds, on a machine that runs other scenarios and the publishers too. */
const recoversWithinMs = 10_000;
/** Other programs may take the machine meanwhile. An API that works for requests that were given up acknowledges next to none. */
const recoveredShare = 0.2;

storm('1,000 publishers that ignore Retry-After', { webhooks: 1 }, async (scene) => {
  const load = await startPublishers(scene);
  await until('the first event', recoversWithinMs, async () => load.acknowledged() > 0);
  await wait(usualMs);
  const usual = load.acknowledged() / usualMs;
  await scene.fault(async () => {
    await scene.store.freeze();
    await wait(hangsMs);
    // As after a failover, all connections are new.
    await scene.store.kill();
    await scene.store.start();
  });
  const readyAt = Date.now();
  await until('a good rate', recoversWithinMs, async () => {
    const before = load.acknowledged();
    await wait(giveUpMs);
    return load.acknowledged() - before > usual * giveUpMs * recoveredShare;
  });
  await wait(2 * usualMs);
  await load.stop();
  return readyAt;
});

async function startPublishers(scene: Scene) {
  const { store, publisher } = scene;
  const key = await makePlatformKey(scene.database);
  const { internalAddress } = await scene.start({ ROLES: 'api', DATABASE_URL: store.url }).started;
  const api = openEventsApi(internalAddress, key, publishers);
  let acknowledged = 0;
  let stopped = false;

  /** Returns the id of the event, or null if it has to be sent again. */
  async function send(event: object): Promise<string | null> {
    const signal = AbortSignal.timeout(giveUpMs);
    try {
      const { id, isRefused, text } = await api.publish(event, signal);
      assert.ok(id !== null || isRefused, text);
      return id;
    } catch (error) {
      if (!signal.aborted) throw error;
      return null;
    }
  }

  async function publish(): Promise<void> {
    while (!stopped) {
      // It has an idempotency key, so an event of which the response was not awaited is not stored twice.
      const event = commonRequest(acknowledged);
      let eventId = await send(event);
      while (eventId === null) eventId = await send(event);
      publisher.committed.add(eventId);
      acknowledged += 1;
    }
  }

  const publishing = Promise.all(Array.from({ length: publishers }, publish));
  return {
    acknowledged: () => acknowledged,
    async stop() {
      stopped = true;
      await publishing;
      await api.close();
    },
  };
}
