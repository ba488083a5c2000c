/**
 * Publishes events over the internal API at a fixed rate, about several alliances in turn, and repeats each until it is
 * acknowledged.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { commonEvent } from '../faults/behaviours.ts';
import { payload } from '../faults/publisher.ts';

export type Load = {
  /** The ids of the events that the API acknowledged. */
  committed: ReadonlySet<string>;
  /** How many requests were refused with 503 and Retry-After. */
  refused(): number;
  /** Responses that are neither an acknowledgement nor such a refusal. */
  wrong: string[];
  /** Resolves with the id of an event that is published from now on, as soon as it is acknowledged. */
  acknowledged(): Promise<string>;
  /** Publishes until it is paused. Resolves when everything is acknowledged. */
  run(): Promise<void>;
  pause(): void;
  close(): Promise<void>;
};

/** Sooner than Retry-After asks for. */
const repeatMs = 1_000;
const urgentRepeatMs = 20;
const connections = 64;

export type LoadOptions = { key: string; alliances: string[]; eventsPerSecond: number };

export function createLoad(
  internalUrl: string,
  { key, alliances, eventsPerSecond }: LoadOptions,
): Load {
  const pool = new Pool(internalUrl, { connections });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const committed = new Set<string>();
  const wrong: string[] = [];
  let number = 0;
  let refused = 0;
  let isPaused = true;

  /** Returns the id of the event, or null if it has to be repeated. */
  async function send(body: string): Promise<string | null> {
    const response = await pool.request({
      method: 'POST',
      path: '/internal/v1/events',
      headers,
      body,
    });
    const text = await response.body.text();
    if (response.statusCode === 201) return (JSON.parse(text) as { data: { id: string } }).data.id;
    if (response.statusCode === 503 && response.headers['retry-after'] !== undefined) refused += 1;
    else wrong.push(`${response.statusCode} ${text}`);
    return null;
  }

  async function publish(pauseMs: number): Promise<string> {
    number += 1;
    const data = payload(commonEvent, number);
    const body = JSON.stringify({
      id: randomUUID(),
      event: commonEvent,
      alliance: alliances[number % alliances.length],
      data,
    });
    for (;;) {
      const id = await send(body);
      if (id !== null) {
        committed.add(id);
        return id;
      }
      await wait(pauseMs);
    }
  }

  return {
    committed,
    wrong,
    refused: () => refused,
    acknowledged: () => publish(urgentRepeatMs),
    async run() {
      isPaused = false;
      const startedAt = performance.now();
      const publications: Promise<string>[] = [];
      for (let count = 0; !isPaused; count += 1) {
        const dueMs = startedAt + (count * 1000) / eventsPerSecond - performance.now();
        if (dueMs > 0) await wait(dueMs);
        publications.push(publish(repeatMs));
      }
      await Promise.all(publications);
    },
    pause() {
      isPaused = true;
    },
    close: () => pool.close(),
  };
}
