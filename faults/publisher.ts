/** Publishes events like a platform, also while the database is unavailable, and records which were committed. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-event.ts';
import { commonEvent, marker, rareEvent } from './behaviours.ts';

export type Publisher = {
  /** Publishes common events, one transaction each, with a rare one after every twentieth. */
  publish(count: number): Promise<void>;
  /** The same in the background, with a pause after each event. Failures are recorded. */
  publishSlowly(count: number, pauseMs: number): Promise<void>;
  /** Ends the pauses of `publishSlowly`. */
  hurry(): void;
  /** Ends `publishSlowly`, which otherwise retries while the database is unavailable. */
  stop(): void;
  /** The ids of events that were committed. */
  committed: ReadonlySet<string>;
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
