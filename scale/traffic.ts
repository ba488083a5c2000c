/**
 * Reads pages and publishes events at a fixed rate over all processes, like a load balancer: a request whose connection is
 * refused or breaks is repeated on the next one. An event has its own id, so it can be repeated too.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { allianceSlug, commonEvent } from '../faults/behaviours.ts';
import { payload } from '../faults/publisher.ts';

type Addresses = { address: string; internalAddress: string };
type Target = { open: Pool; internal: Pool };
type Keys = { platform: string; app: string };

const connections = 16;

export function createTraffic(keys: Keys, perSecond: number) {
  const targets: Target[] = [];
  const committed = new Set<string>();
  const failed: string[] = [];
  const counts = { reads: 0, repeated: 0 };
  let isStopped = false;

  async function send(number: number, kind: keyof Target, path: string, body?: string) {
    const key = kind === 'open' ? keys.app : keys.platform;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    for (let tries = 0; tries < targets.length; tries += 1) {
      const target = targets[(number + tries) % targets.length] as Target;
      try {
        const response = await target[kind].request({ method, path, headers, body: body ?? null });
        const text = await response.body.text();
        if (response.statusCode < 300) return JSON.parse(text) as { data: { id: string } };
        failed.push(`${method} ${path}: ${response.statusCode} ${text}`);
        return null;
      } catch {
        counts.repeated += 1;
      }
    }
    failed.push(`${method} ${path}: no process responds`);
    return null;
  }

  async function read(number: number): Promise<void> {
    if (await send(number, 'open', `/api/v1/alliances/${allianceSlug}`)) counts.reads += 1;
  }

  async function publish(number: number): Promise<void> {
    const event = { id: randomUUID(), event: commonEvent, alliance: allianceSlug };
    const body = JSON.stringify({ ...event, data: payload(commonEvent, number) });
    const sent = await send(number, 'internal', '/internal/v1/events', body);
    if (sent) committed.add(sent.data.id);
  }

  return {
    committed,
    /** Responses that are not 2xx, and requests to which no process responded. */
    failed,
    reads: () => counts.reads,
    repeated: () => counts.repeated,
    add({ address, internalAddress }: Addresses) {
      const [open, internal] = [address, internalAddress].map(
        (each) => new Pool(each, { connections }),
      );
      if (open && internal) targets.push({ open, internal });
    },
    /** Resolves when it is stopped and every request has its response. */
    async run() {
      const startedAt = performance.now();
      const sent: Promise<void>[] = [];
      for (let number = 0; !isStopped; number += 1) {
        const dueMs = startedAt + (number * 1_000) / perSecond - performance.now();
        if (dueMs > 0) await wait(dueMs);
        sent.push(read(number), publish(number));
      }
      await Promise.all(sent);
      await Promise.all(targets.flatMap(({ open, internal }) => [open.close(), internal.close()]));
    },
    stop() {
      isStopped = true;
    },
  };
}
