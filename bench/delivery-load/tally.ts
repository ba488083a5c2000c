/** Counts the receipts of one measurement, by the numbers that each event has in its title. */

export type Tally = {
  /** Notes that an event is about to be published. Returns its title. */
  publishing(event: number): string;
  received(receiver: number, body: string): void;
  /** Resolves when every delivery has arrived. */
  complete: Promise<void>;
  counts(): { deliveries: number; duplicates: number; lastAt: number; latenciesMs: number[] };
};

const numbers = /@@(\d+)@(\d+)@/;
let measurements = 0;

type Expected = { events: number; webhooks: number };

export function createTally({ events, webhooks }: Expected): Tally {
  measurements += 1;
  const measurement = measurements;
  const publishedAt = new Float64Array(events);
  const seen = new Uint8Array(events * webhooks);
  const latenciesMs: number[] = [];
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  if (seen.length === 0) resolve();
  let duplicates = 0;
  let lastAt = 0;
  return {
    complete,
    publishing(event) {
      publishedAt[event] = performance.now();
      return `@@${measurement}@${event}@`;
    },
    received(receiver, body) {
      const now = performance.now();
      const [, of, number] = numbers.exec(body) ?? [];
      // A late one of an earlier measurement.
      if (Number(of) !== measurement) return;
      const event = Number(number);
      const delivery = event * webhooks + (receiver % webhooks);
      if (seen[delivery]) {
        duplicates += 1;
        return;
      }
      seen[delivery] = 1;
      lastAt = now;
      latenciesMs.push(now - (publishedAt[event] as number));
      if (latenciesMs.length === seen.length) resolve();
    },
    counts: () => ({ deliveries: latenciesMs.length, duplicates, lastAt, latenciesMs }),
  };
}
