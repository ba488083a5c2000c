/**
 * Publishes events in groups: what arrives in one turn of the event loop is stored by one statement and one commit
 * (`publications.ts`). While two groups are on the way, publications collect for the next one.
 */
import {
  type Database,
  type DatabaseOptions,
  type Executor,
  isConnectionFault,
  isLockTimeout,
  unavailable,
} from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import {
  type PreparedPublication,
  type Publication,
  preparePublication,
  type Published,
  storePublications,
} from './publications.ts';

/** `key` is the idempotency key. */
export type KeyedPublication = Publication & { key: string | null };

/** More than one, so that one group is made while another commits; more than two only make the groups smaller. */
const groupsMax = 2;
/** PostgreSQL stores as many in less than 10 ms, so that a group delays nobody. */
const groupEventsMax = 256;
const groupBytesMax = 4 * 1024 * 1024;
/** Events that may wait for their groups: stored in a fraction of a second. Later ones are refused at once, as in `database/pool.ts`. */
export const waitingEventsMax = 16 * groupEventsMax;
/**
 * Another process holds a key for the milliseconds of its statement. Whoever holds it for longer is stuck, and must not
 * delay the other events of the group.
 */
const lockTimeoutMs = 500;
/** Publications of one group that may wait for their keys, one after the other, before the rest is given up. */
const lockTimeoutsMax = 4;

/** The pool that groups are stored on. It runs one statement, so its plan is fixed: index look-ups, made once. */
export const publishingPool: DatabaseOptions = {
  applicationName: `orgdir publishing, pid ${process.pid}`,
  poolSize: groupsMax,
  settings: {
    lock_timeout: String(lockTimeoutMs),
    plan_cache_mode: 'force_generic_plan',
    // Otherwise a plan that was made while the directory was empty reads all of it for each event.
    enable_seqscan: 'off',
  },
};

/** A part of one request, which is stored in one group. */
type Part = {
  items: PreparedPublication[];
  resolve: (results: Published[]) => void;
  reject: (error: unknown) => void;
};

export class Publisher {
  readonly #database: Database;
  readonly #onPublished: () => void;
  #waiting: Part[] = [];
  #waitingEvents = 0;
  #storing = 0;
  #scheduled = false;

  /** `onPublished` is called after each commit that published something. */
  constructor(database: Database, onPublished: () => void) {
    this.#database = database;
    this.#onPublished = onPublished;
  }

  /**
   * Returns a result for each publication; the events keep this order. One that is refused fails alone. Throws if
   * nothing was stored because of a failure that concerns all, such as a database that does not respond.
   */
  async publish(publications: readonly KeyedPublication[]): Promise<Published[]> {
    const results: Published[] = [];
    for (const part of inParts(publications)) {
      try {
        // One part after the other, because groups that are stored at the same time have no order.
        results.push(...(await this.#publishPart(part)));
      } catch (error) {
        if (results.length === 0) throw error;
        return publications.map((_, place) => results[place] ?? { kind: 'failed', error });
      }
    }
    return results;
  }

  async #publishPart(part: KeyedPublication[]): Promise<Published[]> {
    const results: (Published | PreparedPublication)[] = [];
    for (const publication of part) results.push(await prepare(this.#database, publication));
    const items = results.flatMap((result) => ('kind' in result ? [] : [result]));
    const stored = items.length === 0 ? [] : await this.#enqueue(items);
    return results.map((result) => ('kind' in result ? result : (stored.shift() as Published)));
  }

  async #enqueue(items: PreparedPublication[]): Promise<Published[]> {
    if (this.#waitingEvents >= waitingEventsMax)
      throw unavailable(new Error('too many events wait'));
    this.#waitingEvents += items.length;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#startGroups());
    });
  }

  #startGroups(): void {
    this.#scheduled = false;
    while (this.#storing < groupsMax && this.#waiting.length > 0) {
      const group = takeGroup(this.#waiting);
      this.#waiting = this.#waiting.filter((part) => !group.has(part));
      for (const { items } of group) this.#waitingEvents -= items.length;
      void this.#storeGroup([...group]);
    }
  }

  async #storeGroup(group: Part[]): Promise<void> {
    this.#storing += 1;
    try {
      const all = group.flatMap(({ items }) => items);
      const results = await store(this.#database, all);
      if (results.some(({ kind }) => kind === 'published')) this.#onPublished();
      for (const { items, resolve } of group) resolve(results.splice(0, items.length));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    this.#storing -= 1;
    this.#startGroups();
  }
}

/** Ends a part before a key occurs in it for the second time, because one statement can take a key once. */
function inParts(publications: readonly KeyedPublication[]): KeyedPublication[][] {
  const parts: KeyedPublication[][] = [];
  let part: KeyedPublication[] = [];
  let keys = new Set<string>();
  for (const publication of publications) {
    const { key } = publication;
    const isTwice = key !== null && keys.has(key);
    if (part.length === 0 || part.length === groupEventsMax || isTwice) {
      parts.push((part = []));
      keys = new Set();
    }
    part.push(publication);
    if (key !== null) keys.add(key);
  }
  return parts;
}

async function prepare(
  database: Database,
  publication: KeyedPublication,
): Promise<PreparedPublication | Published> {
  try {
    return await preparePublication(database, publication, publication.key);
  } catch (error) {
    if (error instanceof ServiceError) return { kind: 'failed', error };
    throw error;
  }
}

/** The oldest part, and all others that fit and share no key with those before them. */
function takeGroup(waiting: readonly Part[]): Set<Part> {
  const group = new Set<Part>();
  const keys = new Set<string>();
  let events = 0;
  let bytes = 0;
  for (const part of waiting) {
    const { items } = part;
    const partKeys = items.flatMap(({ key }) => (key === null ? [] : [key]));
    events += items.length;
    bytes += items.reduce((sum, { text }) => sum + text.length, 0);
    if (group.size > 0 && (events > groupEventsMax || bytes > groupBytesMax)) break;
    if (partKeys.some((key) => keys.has(key))) continue;
    group.add(part);
    for (const key of partKeys) keys.add(key);
  }
  return group;
}

async function store(database: Database, items: PreparedPublication[]): Promise<Published[]> {
  try {
    return await storePublications(database, items);
  } catch (error) {
    if (isOfOneEvent(error)) return storeSeparately(database, items);
    throw error;
  }
}

async function storeSeparately(
  database: Database,
  items: PreparedPublication[],
): Promise<Published[]> {
  const results: Published[] = [];
  let lockTimeouts = 0;
  let fault: unknown = null;
  for (const item of items) {
    try {
      if (fault) throw fault;
      results.push(...(await storePublications(database, [item])));
    } catch (error) {
      const locked = isLockTimeout(error);
      if (locked) lockTimeouts += 1;
      const reason = locked ? unavailable(error) : error;
      if (isConnectionFault(error) || lockTimeouts === lockTimeoutsMax) fault ??= reason;
      results.push({ kind: 'failed', error: reason });
    }
  }
  return results;
}

/** Whether the database refused a value or a key of one event: the others can be stored without it. */
function isOfOneEvent(error: unknown): boolean {
  const { code } = error as { code?: string };
  // data_exception, integrity_constraint_violation, program_limit_exceeded, deadlock_detected
  return isLockTimeout(error) || /^(22|23|54)|^40P01$/.test(code ?? '');
}

/** Returns the event's id. Throws `validation_failed`, `not_found`, and `conflict` if the subject is not public. */
export async function publishEvent(executor: Executor, publication: Publication): Promise<string> {
  const prepared = await preparePublication(executor, publication, null);
  const [result] = await storePublications(executor, [prepared]);
  if (result?.kind === 'published') return result.id;
  throw result?.kind === 'failed' ? result.error : new Error('the event was not stored');
}
