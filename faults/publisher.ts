/** Publishes events like a platform, also while the database is unavailable, and records which were committed. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database, type Executor } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-in-groups.ts';
import { commonEvent, marker, rareEvent } from './behaviours.ts';

type EventName = typeof commonEvent | typeof rareEvent;
export type Publisher = {
  /** Publishes common events, one transaction each, with a rare one after every twentieth. */
  publish(count: number): Promise<void>;
  /** The same in the background, with a pause after each event. Failures are recorded. */
  publishSlowly(count: number, pauseMs: number): Promise<void>;
  /** Publishes one event of that name. */
  publishOne(name: EventName): Promise<void>;
  /** Publishes events of that name in one transaction, which is committed after `hold`. */
  publishTogether(name: EventName, count: number, hold?: () => Promise<void>): Promise<void>;
  /** The same without the commit. The caller calls `committed` after it. */
  publishIn(on: Executor, name: EventName, count: number): Promise<{ committed: () => void }>;
  /** Ends the pauses of `publishSlowly`. */
  hurry(): void;
  /** Ends `publishSlowly`, which otherwise retries while the database is unavailable. */
  stop(): void;
  /** The ids of events that were committed. */
  committed: Set<string>;
  /** The ids of events whose commit failed; they may exist. */
  uncertain: ReadonlySet<string>;
};

const commonPerRare = 20;
const pauseAfterFailureMs = 50;
/** Concurrent commits, which reach the disk together. */
const lanes = 8;

export function createPublisher(database: Database, alliance: string): Publisher {
  const committed = new Set<string>();
  const uncertain = new Set<string>();
  let count = 0;
  let hurried = false;
  let stopped = false;

  async function publishOne(name: string): Promise<void> {
    const publication = { name, org: null, alliance, publicUrl: 'http://directory.test' };
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

  async function publishIn(on: Executor, name: EventName, events: number) {
    const { rows } = await sql<{ id: string }>`
      insert into outbox (id, name, audience, alliance_id, data)
      select uuid_v7(), ${name}::text, 'alliance', a.id, ${JSON.stringify({ title: marker })}::text
      from alliances a, generate_series(1, ${events}::int) where a.slug = ${alliance} returning id
    `.execute(on);
    return {
      committed: () => {
        for (const { id } of rows) committed.add(id);
      },
    };
  }

  async function publishNext(number: number): Promise<void> {
    await publishOne(commonEvent);
    if (number % commonPerRare === 0) await publishOne(rareEvent);
  }

  async function publishAll(numbers: Iterable<number>): Promise<void> {
    for (const number of numbers) await publishNext(number);
  }

  return {
    committed,
    uncertain,
    publishOne,
    publishIn,
    async publishTogether(name, events, hold = async () => {}) {
      const published = await database.transaction().execute(async (tx) => {
        const stored = await publishIn(tx, name, events);
        await hold();
        return stored;
      });
      published.committed();
    },
    hurry: () => {
      hurried = true;
    },
    stop: () => {
      stopped = true;
    },
    async publish(events) {
      const numbers = Array.from({ length: events }, (_, index) => index + 1).values();
      await Promise.all(Array.from({ length: lanes }, () => publishAll(numbers)));
    },
    async publishSlowly(events, pauseMs) {
      for (let number = 1; number <= events && !stopped;) {
        const published = await publishNext(number).then(
          () => true,
          () => false,
        );
        if (published) number += 1;
        if (!published || !hurried) await wait(published ? pauseMs : pauseAfterFailureMs);
      }
    },
  };
}

/** Values that are hard to preserve: key order, characters of all planes, extreme numbers. */
export function payload(name: string, number: number): object {
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
