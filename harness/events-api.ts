/** Publishes over the internal API, as a platform does. */
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';

type Outcome = {
  status: number;
  text: string;
  /** Of an event that was accepted; otherwise null. */
  id: string | null;
  /** The service is busy, and says when to come again. */
  isRefused: boolean;
};

export type EventsApi = {
  /** One try. Rejects if the service cannot be reached, or with `signal`. */
  publish(event: object, signal?: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
};

export function openEventsApi(internalUrl: string, key: string, connections = 32): EventsApi {
  const pool = new Pool(internalUrl, { connections });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    async publish(event, signal) {
      const {
        statusCode,
        headers: received,
        body,
      } = await pool.request({
        method: 'POST',
        path: '/internal/v1/events',
        headers,
        body: JSON.stringify(event),
        ...(signal && { signal }),
      });
      const text = await body.text();
      return {
        status: statusCode,
        text,
        id: statusCode === 201 ? (JSON.parse(text) as { data: { id: string } }).data.id : null,
        isRefused: statusCode === 503 && received['retry-after'] !== undefined,
      };
    },
    close: () => pool.destroy(),
  };
}

/** Publishes at a fixed rate, whether or not the previous event is committed. Resolves when all are. */
export async function publishSteadily(
  publish: (event: number) => Promise<unknown>,
  {
    events = Infinity,
    perSecond,
    until,
  }: { events?: number; perSecond: number; until?: AbortSignal },
): Promise<void> {
  const startedAt = performance.now();
  const publications: Promise<unknown>[] = [];
  for (let event = 0; event < events && !until?.aborted; event += 1) {
    const dueMs = startedAt + (event * 1_000) / perSecond - performance.now();
    if (dueMs > 0) await wait(dueMs);
    publications.push(publish(event));
  }
  await Promise.all(publications);
}
