/** Finds the caller behind a key: from memory while the revision of `access` is current, otherwise from the database. */
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database.ts';
import type { Revisions } from '../database/revisions.ts';
import { hashApiKey, isWellFormedApiKey } from './key-format.ts';
import { findCallersOfKeys, type Caller } from './keys.ts';

export type KeyCache = {
  /** The caller, or null for a key that is malformed, unknown, expired or revoked. */
  authenticate(key: string): Promise<Caller | null> | Caller | null;
  start(): void;
  stop(): void;
};

/** About 5 MB at most. */
const entriesMax = 10_000;
const clearMs = 30_000;
/** Keys that one statement looks up. */
const batchMax = 500;

export function createKeyCache(database: Database, revisions: Revisions): KeyCache {
  // Uses the key itself, because hashing took a seventh of a cached read. Requests hold keys in memory anyway; the timer
  // makes sure that they don't stay here much longer.
  const callers = new LRUCache<string, { revision: number; caller: Caller }>({ max: entriesMax });
  let timer: NodeJS.Timeout | undefined;

  /** Those of this turn of the event loop: after a restart, more clients call than statements may wait. */
  let batch: { hashes: Buffer[]; found: ReturnType<typeof findCallersOfKeys> } | null = null;

  function findInBatch(hash: Buffer): ReturnType<typeof findCallersOfKeys> {
    if (batch === null || batch.hashes.length === batchMax) {
      const hashes: Buffer[] = [];
      const find = () => {
        if (batch?.hashes === hashes) batch = null;
        return findCallersOfKeys(database, hashes);
      };
      batch = { hashes, found: endOfTurn().then(find) };
    }
    batch.hashes.push(hash);
    return batch.found;
  }

  async function lookUp(key: string): Promise<Caller | null> {
    const hash = hashApiKey(key);
    const { revision, callers: found } = await findInBatch(hash);
    const caller = found.get(hash.toString('hex'));
    if (!caller) return null;
    callers.set(key, { revision, caller });
    return admit(caller);
  }

  function admit(caller: Caller): Caller | null {
    return caller.expiresAtMs <= Date.now() ? null : caller;
  }

  return {
    authenticate(key) {
      const cached = callers.get(key);
      if (cached && cached.revision === revisions.current('access')) return admit(cached.caller);
      return isWellFormedApiKey(key) ? lookUp(key) : null;
    },
    start() {
      timer ??= setInterval(() => callers.clear(), clearMs);
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
