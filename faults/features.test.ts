/** Workers, the API and the database that are killed under load next to filters, own headers and chat channels. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { openEventsApi, publishSteadily, type EventsApi } from '../harness/events-api.ts';
import { commonEvent, commonRequest } from '../harness/publisher.ts';
import type { Kind } from '../harness/receivers.ts';
import type { Service } from '../harness/service.ts';
import { makePlatformKey } from '../harness/subscribers.ts';
import { endWell, shortMs, sized, smallScenario, type Scene } from './scenario.ts';

/** About half of the events pass. */
const idPrefix = 'r-1';
const kinds: readonly Kind[] = [
  { behaviour: 'prompt', webhooks: 10, event: commonEvent },
  { name: 'filter', behaviour: 'prompt', webhooks: 10, event: commonEvent, idPrefix },
  { name: 'header', behaviour: 'fails-2', webhooks: 4, event: commonEvent, hasOwnHeader: true },
  {
    name: 'both',
    behaviour: 'slow',
    webhooks: 4,
    event: commonEvent,
    idPrefix,
    hasOwnHeader: true,
    tls: true,
  },
  { name: 'chat', behaviour: 'alternating', webhooks: 3, event: commonEvent, format: 'slack' },
  {
    name: 'filtered-chat',
    behaviour: 'prompt',
    webhooks: 3,
    event: commonEvent,
    idPrefix,
    format: 'discord',
  },
];
const rounds = sized(2, 10);
const requestsBetween = 150;
const eventsPerSecond = 10;
const pauseAfterFailureMs = 50;

smallScenario(
  'kill -9 of worker, API and database next to filters, own headers and chat channels',
  { kinds },
  async (scene) => {
    const { store } = scene;
    let [worker] = (await scene.startWorkers(1)) as [Service];
    let api = startApi(scene);
    const ending = new AbortController();
    const publishing = publish(scene, () => api.started, ending.signal);
    const killWorker = async () => {
      await worker.kill();
      worker = scene.startWorker();
    };
    const killApi = async () => {
      await api.kill();
      api = startApi(scene);
    };
    const killDatabase = async () => {
      await store.kill();
      await scene.moment(shortMs);
      await store.start();
    };
    const killAll = async () => {
      await Promise.all([store.kill(), worker.kill(), api.kill()]);
      await store.start();
      [worker, api] = [scene.startWorker(), startApi(scene)];
    };
    for (let round = 0; round < rounds; round += 1)
      for (const kill of [killWorker, killApi, killDatabase, killAll]) {
        // One that starts without a database says so and ends.
        await Promise.all([worker.started, api.started]);
        await scene.faultAfter(requestsBetween, kill);
      }
    ending.abort();
    await publishing;
    await endWell('killed next to filters, own headers and chat channels', scene);
  },
);

function startApi(scene: Scene): Service {
  return scene.start({ ROLES: 'api', DATABASE_URL: scene.store.url });
}

/** Sends each event again until it is accepted. It has an idempotency key, so it is stored once. */
async function publish(
  { database, publisher }: Scene,
  address: () => Service['started'],
  until: AbortSignal,
): Promise<void> {
  const key = await makePlatformKey(database);
  const apis = new Map<string, EventsApi>();
  const apiAt = (url: string) => {
    const api = apis.get(url) ?? openEventsApi(url, key);
    apis.set(url, api);
    return api;
  };
  /** Null while the API is away, or has no database. */
  const send = async (event: object) => {
    const outcome = await address()
      .then(({ internalAddress }) => apiAt(internalAddress).publish(event))
      .catch(() => null);
    assert.ok(outcome === null || outcome.id !== null || outcome.status >= 500, outcome?.text);
    return outcome?.id ?? null;
  };
  const publishOne = async (number: number) => {
    const event = commonRequest(number);
    let id = await send(event);
    while (id === null) {
      await wait(pauseAfterFailureMs);
      id = await send(event);
    }
    publisher.committed.add(id);
  };
  await publishSteadily(publishOne, { perSecond: eventsPerSecond, until });
  await Promise.all([...apis.values()].map((api) => api.close()));
}
