/** Publishers that give up after a second and send again at once, whatever `Retry-After` says, before and after an outage. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { addressesOf } from '../scale/addresses.ts';
import { createPlatformKey } from '../service/src/access/keys.ts';
import { allianceSlug, commonEvent } from './behaviours.ts';
import { until } from './observe.ts';
import { payload } from './publisher.ts';
import { sized } from './sized.ts';
import { storm } from './storm.ts';
import type { World } from './world.ts';

const publishers = 1_000;
const giveUpMs = 1_000;
const usualMs = 3_000;
const hangsMs = sized(6_000, 30_000);
/** Seconds, on a machine that runs other scenarios and the publishers too. */
const recoversWithinMs = 10_000;
/** Other programs may take the machine meanwhile. An API that works for requests that were given up acknowledges next to none. */
const recoveredShare = 0.2;

storm('1,000 publishers that ignore Retry-After', { webhooks: 1 }, async (world) => {
  const load = await startPublishers(world);
  await until('the first event', recoversWithinMs, async () => load.acknowledged() > 0);
  await wait(usualMs);
  const usual = load.acknowledged() / usualMs;
  await world.fault(async () => {
    await world.store.freeze();
    await wait(hangsMs);
    // As after a failover, all connections are new.
    await world.store.kill();
    await world.store.start();
  });
  const readyAt = Date.now();
  await until('a good rate', recoversWithinMs, async () => {
    const before = load.acknowledged();
    await wait(giveUpMs);
    return load.acknowledged() - before > usual * giveUpMs * recoveredShare;
  });
  await load.stop();
  return readyAt;
});

type Load = { acknowledged(): number; stop(): Promise<void> };

async function startPublishers(world: World): Promise<Load> {
  const actor = { kind: 'system', id: null, name: 'faults' } as const;
  const { key } = await world.database
    .transaction()
    .execute((tx) => createPlatformKey(tx, actor, { name: 'Publishers', expiresAt: null }));
  const api = world.startApi();
  await api.started;
  const pool = new Pool(addressesOf(api).internalAddress, { connections: publishers });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  let acknowledged = 0;
  let stopped = false;

  /** Returns the id of the event, or null if it has to be sent again. */
  async function send(body: string): Promise<string | null> {
    const signal = AbortSignal.timeout(giveUpMs);
    const request = { method: 'POST', path: '/internal/v1/events', headers, body, signal } as const;
    try {
      const response = await pool.request(request);
      const text = await response.body.text();
      if (response.statusCode === 201)
        return (JSON.parse(text) as { data: { id: string } }).data.id;
      assert.equal(response.statusCode, 503, text);
      assert.ok(response.headers['retry-after'] !== undefined);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return null;
  }

  async function publish(): Promise<void> {
    while (!stopped) {
      // Its idempotency key, so an event of which the response was not awaited is not stored twice.
      const id = randomUUID();
      const data = payload(commonEvent, acknowledged);
      const body = JSON.stringify({ id, event: commonEvent, alliance: allianceSlug, data });
      let eventId = await send(body);
      while (eventId === null) eventId = await send(body);
      world.publisher.committed.add(eventId);
      acknowledged += 1;
    }
  }

  const publishing = Promise.all(Array.from({ length: publishers }, publish));
  return {
    acknowledged: () => acknowledged,
    async stop() {
      stopped = true;
      await publishing;
      await pool.close();
    },
  };
}
