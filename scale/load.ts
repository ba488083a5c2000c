/** Loads on the APIs of the service at a fixed rate. An event has an idempotency key, so it can be repeated. */
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { openEventsApi, publishSteadily, type EventsApi } from '../harness/events-api.ts';
import { commonRequest } from '../harness/publisher.ts';
import { allianceSlug } from '../harness/receivers.ts';
import type { Addresses } from '../harness/service.ts';

/** Sooner than Retry-After asks for. */
const repeatMs = 1_000;
const urgentRepeatMs = 20;
const connections = 64;

export type Load = ReturnType<typeof createLoad>;

/** Publishes about several alliances in turn, and repeats each event until it is acknowledged. */
export function createLoad(
  internalUrl: string,
  { key, alliances, perSecond }: { key: string; alliances: string[]; perSecond: number },
) {
  const api = openEventsApi(internalUrl, key, connections);
  const committed = new Set<string>();
  const wrong: string[] = [];
  let number = 0;
  let refused = 0;
  let pausing = new AbortController();

  async function publish(pauseMs: number): Promise<string> {
    number += 1;
    const event = commonRequest(number, alliances[number % alliances.length]);
    for (;;) {
      const { id, isRefused, status, text } = await api.publish(event);
      if (id !== null) {
        committed.add(id);
        return id;
      }
      if (isRefused) refused += 1;
      else wrong.push(`${status} ${text}`);
      await wait(pauseMs);
    }
  }

  return {
    /** The ids of the events that the API acknowledged. */
    committed,
    /** Responses that are neither an acknowledgement nor 503 with Retry-After. */
    wrong,
    /** How many requests were refused with 503 and Retry-After. */
    refused: () => refused,
    /** Resolves with the id of an event that is published from now on, as soon as it is acknowledged. */
    acknowledged: () => publish(urgentRepeatMs),
    /** Publishes until it is paused. Resolves when everything is acknowledged. */
    run() {
      pausing = new AbortController();
      return publishSteadily(() => publish(repeatMs), { perSecond, until: pausing.signal });
    },
    pause: () => pausing.abort(),
    close: () => api.close(),
  };
}

/**
 * Reads pages and publishes over all processes, like a load balancer: a request whose connection is refused or breaks is
 * repeated on the next one.
 */
export function createTraffic(keys: { platform: string; app: string }, perSecond: number) {
  const targets: { pages: Pool; events: EventsApi }[] = [];
  const committed = new Set<string>();
  const failed: string[] = [];
  const counts = { reads: 0, repeated: 0 };
  const stopping = new AbortController();
  const path = `/api/v1/alliances/${allianceSlug}`;
  const headers = { authorization: `Bearer ${keys.app}` };

  async function send(
    number: number,
    request: (target: (typeof targets)[number]) => Promise<void>,
  ) {
    for (let tries = 0; tries < targets.length; tries += 1) {
      try {
        return await request(
          targets[(number + tries) % targets.length] as (typeof targets)[number],
        );
      } catch {
        counts.repeated += 1;
      }
    }
    failed.push('no process responds');
  }

  function read(number: number): Promise<void> {
    return send(number, async ({ pages }) => {
      const { statusCode, body } = await pages.request({ method: 'GET', path, headers });
      const text = await body.text();
      if (statusCode === 200) counts.reads += 1;
      else failed.push(`${path}: ${statusCode} ${text}`);
    });
  }

  function publish(number: number): Promise<void> {
    const event = commonRequest(number);
    return send(number, async ({ events }) => {
      const { id, status, text } = await events.publish(event);
      if (id !== null) committed.add(id);
      else failed.push(`an event: ${status} ${text}`);
    });
  }

  return {
    committed,
    /** Other responses, and requests to which no process responded. */
    failed,
    counts,
    add({ address, internalAddress }: Addresses) {
      const events = openEventsApi(internalAddress, keys.platform);
      targets.push({ pages: new Pool(address, { connections }), events });
    },
    /** Resolves when it is stopped and every request has its response. */
    async run() {
      const both = (number: number) => Promise.all([read(number), publish(number)]);
      await publishSteadily(both, { perSecond, until: stopping.signal });
      await Promise.all(targets.flatMap(({ pages, events }) => [pages.destroy(), events.close()]));
    },
    stop: () => stopping.abort(),
  };
}
