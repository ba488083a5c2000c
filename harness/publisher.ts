/** Publishes events of scenarios by SQL, also while the database is unavailable, and records which were committed. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database, type Executor } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-in-groups.ts';
import { allianceSlug, marker, type Kind } from './receivers.ts';

export type Publisher = {
  /** Publishes common events, one transaction each, with a rare one after every twentieth. */
  publish(count: number): Promise<void>;
  /** The same in the background, with a pause after each event. Failures are recorded. */
  publishSlowly(count: number, pauseMs: number): Promise<void>;
  /** Publishes one event of that name. */
  publishOne(name: string): Promise<void>;
  /** Publishes events of that name in one transaction, which is committed after `hold`. */
  publishTogether(name: string, count: number, hold?: () => Promise<void>): Promise<void>;
  /** The same without the commit. Returns what the caller calls after it. */
  publishIn(on: Executor, name: string, count: number): Promise<() => void>;
  /** Ends the pauses of `publishSlowly`. */
  hurry(): void;
  /** Ends `publishSlowly`, which otherwise retries while the database is unavailable. */
  stop(): void;
  /** The ids of events that were committed. */
  committed: Set<string>;
  /** The ids of events whose commit failed; they may exist. */
  uncertain: ReadonlySet<string>;
};

/** Every webhook gets one of the two events. Those whose attempts time out get the rare one. */
export const commonEvent = 'resource.request.created';
export const rareEvent = 'resource.offer.created';

/** With 200 common and 10 rare events, 50 and 7 webhooks get 10,070 deliveries. */
export const mixedKinds: readonly Kind[] = [
  { behaviour: 'prompt', webhooks: 40, event: commonEvent },
  { behaviour: 'slow', webhooks: 6, event: commonEvent, tls: true },
  { behaviour: 'error', webhooks: 2, event: commonEvent },
  { behaviour: 'fails-2', webhooks: 2, event: commonEvent },
  { behaviour: 'hung', webhooks: 4, event: rareEvent },
  { behaviour: 'reset', webhooks: 3, event: rareEvent },
];

const commonPerRare = 20;
const pauseAfterFailureMs = 50;
/** Concurrent commits, which reach the disk together. */
const lanes = 8;

export function createPublisher(database: Database): Publisher {
  const committed = new Set<string>();
  const uncertain = new Set<string>();
  const pauses = new AbortController();
  let count = 0;
  let stopped = false;

  async function publishOne(name: string): Promise<void> {
    const publicUrl = 'http://directory.test';
    const publication = { name, org: null, alliance: allianceSlug, publicUrl };
    let id = '';
    try {
      await database.transaction().execute(async (tx) => {
        count += 1;
        id = await publishEvent(tx, { ...publication, data: payload(name, count) });
      });
      committed.add(id);
    } catch (error) {
      if (id !== '') uncertain.add(id);
      throw error;
    }
  }

  async function publishIn(on: Executor, name: string, events: number) {
    const { rows } = await sql<{ id: string }>`
      insert into outbox (id, name, audience, alliance_id, data)
      select uuid_v7(), ${name}::text, 'alliance', a.id, ${JSON.stringify({ title: marker })}::text
      from alliances a, generate_series(1, ${events}::int) where a.slug = ${allianceSlug} returning id
    `.execute(on);
    return () => rows.forEach(({ id }) => committed.add(id));
  }

  async function publishNext(number: number): Promise<void> {
    await publishOne(commonEvent);
    if (number % commonPerRare === 0) await publishOne(rareEvent);
  }

  return {
    committed,
    uncertain,
    publishOne,
    publishIn,
    async publishTogether(name, events, hold = async () => {}) {
      const commit = await database.transaction().execute(async (tx) => {
        const published = await publishIn(tx, name, events);
        await hold();
        return published;
      });
      commit();
    },
    hurry: () => pauses.abort(),
    stop: () => {
      stopped = true;
    },
    async publish(events) {
      let next = 1;
      const publishRest = async () => {
        while (next <= events) await publishNext(next++);
      };
      await Promise.all(Array.from({ length: lanes }, publishRest));
    },
    async publishSlowly(events, pauseMs) {
      const { signal } = pauses;
      for (let number = 1; number <= events && !stopped;) {
        const published = await publishNext(number).then(
          () => true,
          () => false,
        );
        if (published) {
          number += 1;
          await wait(pauseMs, undefined, { signal }).catch(() => {});
        } else await wait(pauseAfterFailureMs);
      }
    },
  };
}

/** What a platform sends to publish a common event. Its id is an idempotency key. */
export function commonRequest(number: number, alliance = allianceSlug) {
  const data = payload(commonEvent, number);
  return { id: randomUUID(), event: commonEvent, alliance, data };
}

/** Values that are hard to preserve: key order, characters of all planes, extreme numbers. */
function payload(name: string, number: number): object {
  const until = name === commonEvent ? 'deadline' : 'availableUntil';
  return {
    id: `r-${number}`,
    organization: `Zürich Ægir № ${number}`,
    title: `${marker} “${number}” 漢字 🚀 \u2028`,
    items: [
      { name: 'iron', quantity: 999_999_999_999, unit: 't' },
      { name: 'gold', quantity: 0.1 + number / 1e9, unit: null },
    ],
    [until]: null,
  };
}
