/**
 * Caches pages as bytes. A page is the same for every caller, so it is rendered once and sent until its revision changes.
 * The revision of an entry is read in the same statement as its content, so the two always match.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Revisions, Scope } from '../../database/revisions.ts';
import { createCodings, type Codings } from './codings.ts';

export type Entry = {
  revision: number;
  body: Buffer;
  /** Of the body as it is. */
  etag: string;
  /** Only public content has it: the length of a compressed secret reveals the secret (BREACH). */
  codings?: Codings;
};
export type ResponseCache = ReturnType<typeof createResponseCache>;
type Load = () => Promise<{ revision: number; content: unknown }>;

/** Several URLs can share one key. `address` is absent for what no request gets as it is. */
type Location = { scope: Scope; key: string; address?: string | undefined };

export const bytesMax = 32 * 1024 * 1024;
/** Memory per entry for its key, tag and bookkeeping. */
const overheadBytes = 600;

/** At the maximum length, these addresses take 5 MB. */
const addressesMax = 10_000;
const addressLengthMax = 500;

export function createResponseCache(revisions: Revisions, enabled = true) {
  const entries = new LRUCache<string, Entry>({
    maxSize: bytesMax,
    sizeCalculation: (entry, key) => bytesOf(entry) + key.length + overheadBytes,
  });
  const loading = new Map<string, Promise<Entry>>();
  const lookups = { hit: 0, miss: 0 };
  const locations = new LRUCache<string, Location>({ max: addressesMax });

  async function fill(key: string, load: Load): Promise<Entry> {
    const { revision, content } = await load();
    const entry = toPublic(toEntry(revision, content), entries.peek(key), countAgain);
    if (enabled) entries.set(key, entry);
    return entry;

    function countAgain(): void {
      const current = entries.peek(key);
      // The cache counts the bytes of each value once.
      if (current) entries.set(key, { ...current });
    }
  }

  return {
    /** How many responses were found, and how many had to be loaded or waited for. */
    lookups,
    /** Returns the current entry of this URL, or null. */
    peek(address: string): Entry | null {
      // One that falls out comes back with its next request: to note each use would cost more.
      const location = locations.peek(address);
      const entry = location && entries.get(location.key);
      if (!entry || entry.revision !== revisions.current(location.scope)) return null;
      lookups.hit += 1;
      return entry;
    },
    /** Returns the entry under `key`, or loads it. Requests that arrive during the load share its result. */
    get(location: Location, load: Load): Entry | Promise<Entry> {
      const { scope, key, address } = location;
      if (address !== undefined && address.length <= addressLengthMax)
        locations.set(address, location);
      const entry = entries.get(key);
      const revision = revisions.current(scope);
      if (entry && entry.revision === revision) {
        lookups.hit += 1;
        return entry;
      }
      lookups.miss += 1;
      // Only requests that saw the same revision may join this load: a later request must not get older content.
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

function bytesOf({ body, codings }: Entry): number {
  const compressed = Object.values(codings?.compressed ?? {});
  return compressed.reduce((bytes, each) => bytes + each.body.length, body.length);
}

/** Bytes stay as they are, anything else becomes JSON. */
export function toEntry(revision: number, content: unknown): Entry {
  const body = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return entryOf(revision, body);
}

/** The tag depends only on the bytes, so all processes send the same one. */
export function entryOf(revision: number, body: Buffer): Entry {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { revision, body, etag };
}

/** For content that is the same for everybody. Keeps what was compressed of `earlier` if the bytes are the same. */
export function publicEntry(body: Buffer, earlier?: Entry): Entry {
  return toPublic(entryOf(0, body), earlier);
}

function toPublic(entry: Entry, earlier?: Entry, onCompressed?: () => void): Entry {
  const kept = earlier?.etag === entry.etag ? earlier.codings : undefined;
  return { ...entry, codings: kept ?? createCodings(onCompressed) };
}
