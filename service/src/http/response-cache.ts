/**
 * Pages as bytes: a page is the same for everyone, so it is made once and sent until its revision moves.
 * An entry belongs to the revision that was read in the same statement as its content.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Revisions, Scope } from '../database/revisions.ts';

export type Entry = { revision: number; body: Buffer; etag: string };
export type ResponseCache = {
  /** The entry under `key`, or what `load` reads. Requests that come while it reads share the answer. */
  get(
    scope: Scope,
    key: string,
    load: () => Promise<{ revision: number; content: unknown }>,
  ): Entry | Promise<Entry>;
};

const bytesMax = 32 * 1024 * 1024;
/** What an entry costs beside its body: key, tag, bookkeeping. */
const overheadBytes = 600;

export function createResponseCache(revisions: Revisions, enabled = true): ResponseCache {
  const entries = new LRUCache<string, Entry>({
    maxSize: bytesMax,
    sizeCalculation: (entry, key) => entry.body.length + key.length + overheadBytes,
  });
  const loading = new Map<string, Promise<Entry>>();

  async function fill(
    key: string,
    load: () => Promise<{ revision: number; content: unknown }>,
  ): Promise<Entry> {
    const { revision, content } = await load();
    const entry = toEntry(revision, content);
    if (enabled) entries.set(key, entry);
    return entry;
  }

  return {
    get(scope, key, load) {
      const entry = entries.get(key);
      const revision = revisions.current(scope);
      if (entry && entry.revision === revision) return entry;
      // Joined only by those who came at the same known revision: a later one must not see less.
      const flight = `${revision}\n${key}`;
      let reading = revision === null ? undefined : loading.get(flight);
      if (!reading) {
        reading = fill(key, load).finally(() => loading.delete(flight));
        loading.set(flight, reading);
      }
      return reading;
    },
  };
}

/** Content as bytes with their tag. */
export function toEntry(revision: number, content: unknown): Entry {
  return entryOf(revision, Buffer.from(JSON.stringify(content)));
}

/** The tag is strong and made of the bytes alone, so that every process gives the same one. */
export function entryOf(revision: number, body: Buffer): Entry {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { revision, body, etag };
}
