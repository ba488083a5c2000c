/** Webhooks that have nothing to do with a trouble, and how long events take to reach them. */
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhooks } from '../delivery-world.ts';
import { quantile } from '../../harness/figures.ts';
import { publishSteadily } from '../publish-steadily.ts';
import { startReceiver, type Receiver } from '../start-receiver.ts';
import type { Publisher } from './publisher.ts';
import type { System } from '../delivery-load/system.ts';
import type { Tally } from '../receiver.ts';

export type Group = {
  name: string;
  /** How long its receivers take. */
  afterMs: number;
  webhooks: number;
  eventsPerSecond: number;
  /** The quantile that is measured. */
  share: number;
};

/** In 16 s they get 2,000, 500 and 100 deliveries, always fewer at a time than their latency allows. */
export const groups: readonly Group[] = [
  { name: '5 ms', afterMs: 5, webhooks: 5, eventsPerSecond: 25, share: 0.99 },
  { name: '300 ms', afterMs: 300, webhooks: 5, eventsPerSecond: 6.25, share: 0.99 },
  { name: '3 s', afterMs: 3_000, webhooks: 20, eventsPerSecond: 0.3125, share: 0.95 },
];

/** Of one group: from the accepted request to publish until the receipt, in milliseconds. Infinite if too few have arrived. */
export type Latency = { quantileMs: number; missing: number };

export type Bystanders = {
  slugs: string[];
  /** Creates the webhooks of the groups. */
  create(system: System): Promise<void>;
  /** Publishes to all groups for so long, and waits for what is late. */
  measure(publisher: Publisher, seconds: number): Promise<Latency[]>;
};

/** A delivery that takes longer than this after the end of a measurement is missing. */
const lateMs = 45_000;

export async function openBystanders(cleanUps: AsyncDisposableStack): Promise<Bystanders> {
  // Each webhook has a receiver of its own, which shares nothing with the receivers of the trouble.
  const receivers = await Promise.all(
    groups.map(({ webhooks }) => startReceiver(webhooks, cleanUps)),
  );
  const slugs = groups.map(({ afterMs }) => `bystander-${afterMs}`);
  return {
    slugs,
    async create(system) {
      for (const [index, { afterMs, webhooks }] of groups.entries())
        await addWebhooks(system, {
          org: slugs[index] as string,
          webhooks: (receivers[index] as Receiver)
            .urls(webhooks, `/after-${afterMs}`)
            .map((url) => ({
              url,
              events: ['application.created'],
            })),
          perApp: 1,
          ownerOf: (app) => `${slugs[index]}-${app}@example.org`,
        });
    },
    measure: (publisher, seconds) =>
      Promise.all(
        groups.map((group, index) =>
          measureGroup(group, {
            publish: () => publisher.publish(slugs[index] as string),
            receiver: receivers[index] as Receiver,
            seconds,
          }),
        ),
      ),
  };
}

async function measureGroup(
  { webhooks, eventsPerSecond, share }: Group,
  {
    publish,
    receiver,
    seconds,
  }: { publish: () => Promise<void>; receiver: Receiver; seconds: number },
): Promise<Latency> {
  const events = Math.ceil(eventsPerSecond * seconds);
  const count = events * webhooks;
  await receiver.ask({ do: 'reset' });
  await publishSteadily(publish, { events, perSecond: eventsPerSecond });
  await Promise.race([
    receiver.ask({ do: 'wait', count }),
    wait(lateMs, undefined, { ref: false }),
  ]);
  const { latenciesMs } = await receiver.ask<Tally>({ do: 'tally' });
  const missing = Math.max(count - latenciesMs.length, 0);
  const all = latenciesMs.concat(Array.from({ length: missing }, () => Infinity));
  return { quantileMs: quantile(all, share), missing };
}
