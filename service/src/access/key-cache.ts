/**
 * Finds the caller behind a key: from memory while the revision of `access` is current, otherwise from the database.
 * Also notes when and how often each key was used and writes that to the database twice per minute.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database.ts';
import type { Revisions } from '../database/revisions.ts';
import { hashApiKey, isWellFormedApiKey } from './api-key.ts';
import { findCaller, recordKeyUses, type Caller, type KeyUse } from './keys.ts';

export type KeyCache = {
  /** The caller, or null for a key that is malformed, unknown, expired or revoked. */
  authenticate(key: string): Promise<Caller | null> | Caller | null;
  start(): void;
  stop(): Promise<void>;
};

/** About 5 MB at most. */
const entriesMax = 10_000;
/** Keeps `lastUsedAt` at most a minute late. */
const flushMs = 30_000;

export function createKeyCache(database: Database, revisions: Revisions): KeyCache {
  // Uses the key itself, because hashing took a seventh of a cached read. Requests hold keys in memory anyway; `flush`
  // makes sure that they don't stay here much longer.
  const callers = new LRUCache<string, { revision: number; caller: Caller }>({ max: entriesMax });
  let uses = new Map<string, KeyUse>();
  let timer: NodeJS.Timeout | undefined;

  async function lookUp(key: string): Promise<Caller | null> {
    const { revision, caller } = await findCaller(database, hashApiKey(key));
    if (!caller) return null;
    callers.set(key, { revision, caller });
    return admit(caller);
  }

  function admit(caller: Caller): Caller | null {
    const now = Date.now();
    if (caller.expiresAtMs <= now) return null;
    note(caller.keyId, now, 1);
    return caller;
  }

  function note(keyId: string, atMs: number, count: number): void {
    const use = uses.get(keyId);
    if (!use) uses.set(keyId, { atMs, count });
    else {
      use.atMs = Math.max(use.atMs, atMs);
      use.count += count;
    }
  }

  async function flush(): Promise<void> {
    const batch = uses;
    uses = new Map();
    callers.clear();
    try {
      await recordKeyUses(database, batch);
    } catch {
      // Keeps them for the next flush.
      for (const [id, { atMs, count }] of batch) note(id, atMs, count);
    }
  }

  return {
    authenticate(key) {
      const cached = callers.get(key);
      if (cached && cached.revision === revisions.current('access')) return admit(cached.caller);
      return isWellFormedApiKey(key) ? lookUp(key) : null;
    },
    start() {
      timer ??= setInterval(() => void flush(), flushMs);
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await flush();
    },
  };
}
