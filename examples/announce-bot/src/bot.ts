/**
 * Reads events and announces new organisations, when a delivery wakes it and once a minute. It stores the cursor after
 * each page, so that after a restart it announces what it has missed.
 */
import { ApiError, OrgdirError, type Client, type DirectoryEvent } from '@orgdir/client';
import { ChatError, type Chat } from './chat.ts';
import { describeOrg } from './describe-org.ts';
import type { Memory } from './memory.ts';

export type Bot = {
  /** Resolves after `stop`. */
  run(): Promise<void>;
  /** Makes the bot read events now. */
  wake(): void;
  stop(): void;
};

/** Finds events whose delivery was lost. */
const pollMs = 60_000;
/** Limits `Retry-After`. */
const retryAfterMaxSeconds = 3600;
/** A crash repeats at most one page. */
const pageLimit = 20;

export function createBot(deps: { client: Client; chat: Chat; memory: Memory }): Bot {
  const { client, chat, memory } = deps;
  const stopped = new AbortController();
  let wakeRequested = false;
  let wake: () => void = () => {};

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      wakeRequested = false;
      const waitMs = await catchUp().then(() => pollMs, waitMsAfter);
      await sleep(waitMs);
    }
  }

  async function catchUp(): Promise<void> {
    if (memory.isNew) return skipOldEvents();
    for (;;) {
      const page = await read().catch(replaceCursor);
      if (!page) continue;
      const { data, pagination } = page;
      for (const event of data) await announceOnce(event);
      await memory.saveCursor(pagination.nextCursor, newestOf(data));
      if (!pagination.hasMore) return;
    }
  }

  function newestOf(data: DirectoryEvent[]): string {
    return data.reduce(
      (newest, { createdAt }) => (createdAt > newest ? createdAt : newest),
      memory.readUntil,
    );
  }

  /** Reads again from the beginning, to the first page that has an event after the newest one that was read. */
  async function replaceCursor(error: unknown): Promise<null> {
    if (!(error instanceof ApiError && error.code === 'validation_failed' && memory.cursor))
      throw error;
    console.error('the cursor is refused: reading from the beginning');
    let after: string | null = null;
    for (;;) {
      const { data, pagination } = await read(after);
      const known = data.filter(({ createdAt }) => createdAt <= memory.readUntil);
      if (known.length < data.length || !pagination.hasMore) {
        const ids = known.map(({ id }) => id);
        await memory.replaceCursor(after, ids);
        return null;
      }
      after = pagination.nextCursor;
    }
  }

  /** A new bot does not announce old organisations. */
  async function skipOldEvents(): Promise<void> {
    let after: string | null = null;
    let readUntil = '';
    for (;;) {
      const { data, pagination } = await read(after);
      after = pagination.nextCursor;
      readUntil = data.at(-1)?.createdAt ?? readUntil;
      if (!pagination.hasMore) return memory.saveCursor(after, readUntil);
    }
  }

  function read(after = memory.cursor) {
    const query = { after, event: 'org.created', limit: pageLimit } as const;
    return client.events.list(query, { signal: stopped.signal });
  }

  async function announceOnce(event: DirectoryEvent): Promise<void> {
    if (event.event !== 'org.created' || memory.has(event.id)) return;
    // Stored before posting, so that a bot that is killed in between does not announce it twice.
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
      console.log(`${event.data.slug} may have been announced, so it is not announced again`);
    }
  }

  async function sleep(waitMs: number): Promise<void> {
    if (wakeRequested || stopped.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function waitMsAfter(error: unknown): number {
    if (stopped.signal.aborted) return 0;
    // Any other error is a bug in this program.
    if (!(error instanceof OrgdirError || error instanceof ChatError)) throw error;
    console.error(`${error.name}: ${error.message}`);
    const { retryAfter = null } =
      error instanceof ApiError || error instanceof ChatError ? error : {};
    return retryAfter === null ? pollMs : Math.min(retryAfter, retryAfterMaxSeconds) * 1000;
  }

  return {
    run,
    wake() {
      wakeRequested = true;
      wake();
    },
    stop() {
      stopped.abort();
      wake();
    },
  };
}
