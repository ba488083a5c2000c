/**
 * Who a key stands for, from memory while the revision of `access` stands, else from the database.
 * Also notes when each key was used, and writes that down twice a minute.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database.ts';
import type { Revisions } from '../database/revisions.ts';
import { hashApiKey, isWellFormedApiKey } from './api-key.ts';
import { findCaller, noteUses, type Caller } from './keys.ts';

export type KeyCache = {
  /** The caller, or null for a key that is malformed, unknown, expired or revoked. */
  authenticate(key: string): Promise<Caller | null> | Caller | null;
  start(): void;
  stop(): Promise<void>;
};

/** About 5 MB at most. */
const entriesMax = 10_000;
/** SPEC 5: `lastUsedAt` is at most a minute stale. */
const flushMs = 30_000;

export function createKeyCache(database: Database, revisions: Revisions): KeyCache {
  const callers = new LRUCache<string, { revision: number; caller: Caller }>({ max: entriesMax });
  let uses = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  async function look(hash: Buffer, cacheKey: string): Promise<Caller | null> {
    const { revision, caller } = await findCaller(database, hash);
    if (!caller) return null;
    callers.set(cacheKey, { revision, caller });
    return admit(caller);
  }

  function admit(caller: Caller): Caller | null {
    const now = Date.now();
    if (caller.expiresAtMs <= now) return null;
    uses.set(caller.keyId, now);
    return caller;
  }

  async function flush(): Promise<void> {
    const noted = uses;
    uses = new Map();
    try {
      await noteUses(database, noted);
    } catch {
      // Kept for the next time; a use since then is later and wins.
      for (const [id, at] of noted) if (!uses.has(id)) uses.set(id, at);
    }
  }

  return {
    authenticate(key) {
      if (!isWellFormedApiKey(key)) return null;
      const hash = hashApiKey(key);
      // The hash, not the key: a memory dump of the service holds no usable key from here.
      const cacheKey = hash.toString('base64');
      const cached = callers.get(cacheKey);
      if (cached && cached.revision === revisions.current('access')) return admit(cached.caller);
      return look(hash, cacheKey);
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
