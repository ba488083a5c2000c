/**
 * Reads the stream of events from where it stopped and announces what is new, when it is woken and once a minute. The
 * place in the stream is kept after each page, so that a bot that was away announces what it has missed.
 */
import { ApiError, OrgdirError, type Client, type DirectoryEvent } from '@orgdir/client';
import { ChatError, type Chat } from './chat.ts';
import { describeOrg } from './describe-org.ts';
import type { Memory } from './memory.ts';

export type Bot = {
  /** Resolves when it has been stopped. */
  run(): Promise<void>;
  /** Says that there may be something new. */
  wake(): void;
  stop(): void;
};

/** In case that a delivery got lost, or the webhook was deactivated. */
const lookAgainMs = 60_000;
/** Whoever asks for more patience is asked again all the same. */
const patienceMaxSeconds = 3600;
/** As many as a crash could make one ask for again. */
const pageLimit = 20;

export function createBot(deps: { client: Client; chat: Chat; memory: Memory }): Bot {
  const { client, chat, memory } = deps;
  const stopped = new AbortController();
  let isWoken = false;
  let wake: () => void = () => {};

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      isWoken = false;
      const waitMs = await catchUp().then(() => lookAgainMs, toWait);
      await rest(waitMs);
    }
  }

  async function catchUp(): Promise<void> {
    if (memory.isNew) return skipThePast();
    for (;;) {
      const { data, pagination } = await read();
      for (const event of data) await announceOnce(event);
      await memory.turnPage(pagination.nextCursor);
      if (!pagination.hasMore) return;
    }
  }

  /** Who has just invited the bot does not want to hear of a month. */
  async function skipThePast(): Promise<void> {
    let after: string | null = null;
    for (;;) {
      const { pagination } = await read(after);
      after = pagination.nextCursor;
      if (!pagination.hasMore) return memory.turnPage(after);
    }
  }

  function read(after = memory.cursor) {
    const query = { after, event: 'org.created', limit: pageLimit } as const;
    return client.events.list(query, { signal: stopped.signal });
  }

  async function announceOnce(event: DirectoryEvent): Promise<void> {
    if (event.event !== 'org.created' || memory.has(event.id)) return;
    // Before it is sent: who is killed in between must not announce it again.
    await memory.add(event.id);
    try {
      await chat.post(describeOrg(event.data));
      console.log(`announced ${event.data.slug}`);
    } catch (error) {
      if (!(error instanceof ChatError)) throw error;
      if (!error.mayHaveArrived) {
        await memory.remove(event.id);
        throw error;
      }
      console.log(`${event.data.slug} may have been announced, and is not announced again`);
    }
  }

  async function rest(waitMs: number): Promise<void> {
    if (isWoken || stopped.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function toWait(error: unknown): number {
    if (stopped.signal.aborted) return 0;
    // Anything else is a mistake in this program.
    if (!(error instanceof OrgdirError || error instanceof ChatError)) throw error;
    console.error(`${error.name}: ${error.message}`);
    const { retryAfter = null } =
      error instanceof ApiError || error instanceof ChatError ? error : {};
    return retryAfter === null ? lookAgainMs : Math.min(retryAfter, patienceMaxSeconds) * 1000;
  }

  return {
    run,
    wake() {
      isWoken = true;
      wake();
    },
    stop() {
      stopped.abort();
      wake();
    },
  };
}
