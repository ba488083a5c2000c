/** Clients that follow events while what serves them is killed: each gets every event once and in order. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from '@orgdir/client';
import { createKey } from '../service/src/access/keys.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { openStream } from '../service/test/support/event-stream.ts';
import { freePort } from '../service/test/support/free-port.ts';
import { commonEvent } from '../harness/publisher.ts';
import { until } from '../harness/world.ts';
import { endWell, shortMs, smallScenario } from './scenario.ts';

/** With the client of the project, which polls after a stream that broke off early. */
const followers = 2;
/** That connect again at once, as EventSource does. */
const readers = 3;
const reconnectMs = 100;
/** More than are published in the time of the test. */
const eventsMax = 100_000;
const publishEveryMs = 40;
/** With the reconnections of clients and of the processes, on a busy machine. */
const deadlineMs = 60_000;
const name = 'followers of events, while API, worker and database are killed';

smallScenario(
  name,
  { kinds: [{ behaviour: 'prompt', webhooks: 2, event: commonEvent }] },
  async (scene) => {
    using cleanUps = new DisposableStack();
    const { store, publisher } = scene;
    const env = {
      ROLES: 'api',
      DATABASE_URL: store.url,
      PORT: String(await freePort()),
      RATE_LIMIT_PER_MINUTE: '0',
    };
    let api = scene.start(env);
    let [worker] = await scene.startWorkers(1);
    const { address } = await api.started;
    const apiKey = await makeKey(scene.database);
    const end = new AbortController();
    cleanUps.defer(() => end.abort());
    // A cursor from which streams begin.
    await publisher.publishOne(commonEvent);
    await scene.drained();
    const first = await createClient({ baseUrl: address, apiKey }).events.list();
    const cursor = first.pagination.nextCursor ?? '';
    const got = Array.from({ length: followers + readers }, () => [] as string[]);
    const following = got.map(async (ids, index) => {
      if (index >= followers)
        return readStreams({ address, apiKey, cursor, ids, signal: end.signal });
      const client = createClient({ baseUrl: address, apiKey, signal: end.signal });
      for await (const { data } of client.events.follow({ after: cursor, pollMs: 200 }))
        ids.push(...data.map(({ id }) => id));
    });
    const ended = Promise.allSettled(following);
    const publishing = publisher.publishSlowly(eventsMax, publishEveryMs);
    for (const act of [
      async () => {
        await api.kill();
        api = scene.start(env);
        await api.started;
      },
      async () => {
        await worker?.kill();
        [worker] = await scene.startWorkers(1);
      },
      async () => {
        await store.kill();
        await scene.moment(shortMs);
        await store.start();
      },
      async () => {
        await sql`
          select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'orgdir listener%'
        `.execute(scene.database);
      },
    ]) {
      const before = got[0]?.length ?? 0;
      await until('more events', deadlineMs, async () => (got[0]?.length ?? 0) > before + 10);
      await scene.fault(act);
    }
    publisher.stop();
    await publishing;
    await scene.drained();
    const all = (await listAll(createClient({ baseUrl: address, apiKey }))).slice(
      first.data.length,
    );
    await until('all events', deadlineMs, async () =>
      got.every(({ length }) => length >= all.length),
    );
    end.abort();
    await ended;
    for (const ids of got) assert.deepEqual(ids, all);
    await endWell(name, scene);
  },
);

type Reading = {
  address: string;
  apiKey: string;
  cursor: string;
  ids: string[];
  signal: AbortSignal;
};

async function readStreams({ address, apiKey, cursor, ids, signal }: Reading): Promise<void> {
  for (let last = cursor; !signal.aborted; await wait(reconnectMs)) {
    try {
      const headers = { 'last-event-id': last };
      const stream = await openStream(address, apiKey, { headers, signal });
      for (;;) {
        const event = await stream.next();
        if (event === null || event.event === 'stream.ended') break;
        ids.push((event.data as { id: string }).id);
        last = event.id;
      }
    } catch {
      // Not there at the moment.
    }
  }
}

async function listAll(client: ReturnType<typeof createClient>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of client.events.all()) ids.push(id);
  return ids;
}

/** Of an app that may have the events of the publisher. */
async function makeKey(database: Database): Promise<string> {
  const { rows } = await sql<{ appId: string }>`
    select app_id as "appId" from bindings limit 1
  `.execute(database);
  const actor = { kind: 'system', id: null, name: 'faults' } as const;
  const { key } = await database.transaction().execute((tx) =>
    createKey(tx, actor, {
      appId: rows[0]?.appId ?? '',
      name: 'Follower',
      scopes: ['read:events'],
      expiresAt: null,
    }),
  );
  return key;
}
