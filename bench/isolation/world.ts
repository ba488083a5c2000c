/** A service with bystanders, next to which a trouble happens to other webhooks. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Transaction } from '../../service/src/database/database.ts';
import { startSystem, type System } from '../delivery-load/system.ts';
import { createOrgs } from '../delivery-load/world.ts';
import { addWebhooks } from '../delivery-world.ts';
import { startReceiver, type Receiver } from '../start-receiver.ts';
import { openBystanders, type Bystanders } from './bystanders.ts';
import { openPublisher, type Publisher } from './publisher.ts';

export type SetUp = { postgresSettings: string[] | null; workers: number };

export type World = {
  system: System;
  /** For files. */
  folder: string;
  /** A platform key. */
  key: string;
  bystanders: Bystanders;
  publisher: Publisher;
  /** Of the webhooks in trouble. */
  receiver: Receiver;
  /** Creates so many webhooks on this path of the receivers, each app with another owner, for the events of `troubled`. */
  subscribe: (count: number, path: string, event?: string) => Promise<void>;
  /** Does something at once and then again and again, until the world ends. */
  repeat: (everyMs: number, act: () => Promise<unknown>) => void;
  /** Does something in a transaction that then stays open for so long. */
  holdOpen: (act: (tx: Transaction) => Promise<unknown>, seconds: number) => Promise<void>;
  /** How long a transaction stays open; a snapshot twice as long. */
  heldSeconds: number;
  cleanUps: AsyncDisposableStack;
};

/** The organisation whose events go to webhooks in trouble. */
export const troubled = 'troubled';

const origins = 100;

export async function createWorld(
  {
    folder,
    heldSeconds,
    ...setUp
  }: SetUp & { checkout: string; folder: string; heldSeconds: number },
  cleanUps: AsyncDisposableStack,
): Promise<World> {
  const bystanders = await openBystanders(cleanUps);
  const options = { name: 'here', folder, ...setUp, observesWork: false };
  const system = await startSystem(options, cleanUps);
  // Stops before the service, which would otherwise wait for attempts that nobody answers.
  const receiver = await startReceiver(origins, cleanUps);
  const { key } = await system.command<{ key: string }>('keys', 'create', '--platform');
  const slugs = [troubled, ...bystanders.slugs];
  await createOrgs(system, key, new Map(slugs.map((slug) => [slug, 'bench@example.org'])));
  await bystanders.create(system);
  const publisher = openPublisher(system.internalUrl, key, cleanUps);
  return {
    system,
    folder,
    key,
    bystanders,
    publisher,
    receiver,
    heldSeconds,
    cleanUps,
    subscribe: (count, path, event = 'application.created') =>
      addWebhooks(system, {
        org: troubled,
        webhooks: receiver.urls(count, path).map((url) => ({ url, events: [event] })),
        ownerOf: (app) => `${troubled}-${app}@example.org`,
      }),
    async holdOpen(act, seconds) {
      const begun = Promise.withResolvers<void>();
      const ending = new AbortController();
      const done = system.database.transaction().execute(async (tx) => {
        await act(tx);
        begun.resolve();
        await wait(seconds * 1_000, undefined, { signal: ending.signal }).catch(() => {});
      });
      cleanUps.defer(async () => {
        ending.abort();
        await Promise.allSettled([done]);
      });
      await Promise.race([begun.promise, done]);
    },
    repeat(everyMs, act) {
      const ending = new AbortController();
      const done = repeatUntil(ending.signal, everyMs, act);
      cleanUps.defer(async () => {
        ending.abort();
        await done;
      });
    },
  };
}

async function repeatUntil(
  signal: AbortSignal,
  everyMs: number,
  act: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await act();
    await wait(everyMs, undefined, { signal }).catch(() => {});
  }
}
