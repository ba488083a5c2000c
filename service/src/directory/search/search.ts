/**
 * Searches the directory in memory (docs/decisions/0032-search.md). A process has one index per kind, which belongs to a
 * revision, like a cached page: before a search it applies what was written since then. The start loads it, or the first
 * search. After a large import a new one is loaded, and until then searches use the older one.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import type { Logger } from '../../runtime/log.ts';
import type { SlugTable } from '../lock-directory.ts';
import { loadIndex, readChanges, sources, type IndexState } from './load-index.ts';
import type { Query, Result } from './search-index.ts';
import { termsOf } from './terms.ts';

/** What a search found, and the revision of the index in which it was found. */
export type FoundAt = Result & { revision: number };

const kinds = Object.keys(sources) as SlugTable[];
const retryMs = 1_000;
/** Changes are kept for minutes (`readChanges`), so an index that nobody uses has to look for them now and then. */
const lookMs = 60_000;

export class Search {
  readonly #database: Database;
  readonly #revisions: Revisions;
  readonly #log: Logger;
  readonly #states = new Map<SlugTable, IndexState>();
  readonly #updates = new Map<SlugTable, Promise<void>>();
  /** New indexes that are being loaded, and those of them that hold a large import. */
  readonly #renewals = new Map<SlugTable, Promise<void>>();
  readonly #behind = new Set<SlugTable>();
  readonly #stopping = new AbortController();
  #loading: Promise<void> | null = null;
  #failingSince: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, revisions: Revisions, log: Logger) {
    this.#database = database;
    this.#revisions = revisions;
    this.#log = log;
    revisions.onMove((scope) => this.#look((kind) => sources[kind].scope === scope));
  }

  /** Loads the indexes, so that no search has to. */
  start(): void {
    this.#loading ??= this.#loadFirst();
    this.#timer = setInterval(() => this.#look(() => true), lookMs).unref();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#timer);
    await this.#loading;
  }

  /** The kinds whose index has not been loaded yet, and since when (`performance.now`) that fails, or null. */
  loading(): { indexes: SlugTable[]; failingSince: number | null } {
    const indexes = kinds.filter((kind) => !this.#states.has(kind));
    return { indexes, failingSince: this.#failingSince };
  }

  /**
   * Returns null if the text has no words, and nothing else is asked. Finds what was written at least a second ago or, if
   * `isNewest` is set, everything that is committed.
   */
  async find(
    kind: SlugTable,
    text: string,
    query: Query & { isNewest?: boolean },
  ): Promise<FoundAt | null> {
    const terms = termsOf(text);
    if (terms.length === 0 && !isNarrowed(query)) return null;
    const { index, revision } = await this.#current(kind, query.isNewest === true);
    return { ...index.find(terms, query), revision };
  }

  async #loadFirst(): Promise<void> {
    const { signal } = this.#stopping;
    for (const kind of kinds)
      while (!this.#states.has(kind) && !signal.aborted)
        await this.#update(kind).catch(async (error: unknown) => {
          if (signal.aborted) return;
          this.#failingSince ??= performance.now();
          this.#log.warn({ kind, err: error }, 'search.load_failed');
          await wait(retryMs, undefined, { signal, ref: false }).catch(() => {});
        });
  }

  /** Applies what was written. If that fails, the next search tries again and reports it. */
  #look(which: (kind: SlugTable) => boolean): void {
    for (const kind of this.#states.keys())
      if (which(kind) && !this.#behind.has(kind)) this.#update(kind).catch(() => {});
  }

  async #current(kind: SlugTable, isNewest: boolean): Promise<IndexState> {
    const wanted = isNewest ? null : this.#revisions.current(sources[kind].scope);
    const known = this.#states.get(kind);
    if (known && !isNewest && (known.revision === wanted || this.#behind.has(kind))) return known;
    // An update that is running may have begun before the newest write.
    await this.#updates.get(kind)?.catch(() => {});
    if (this.#states.get(kind)?.revision !== wanted || wanted === null) await this.#update(kind);
    // The first of these may have begun before the newest write, the second has not.
    for (let load = 0; isNewest && this.#behind.has(kind) && load < 2; load += 1) {
      await this.#renewals.get(kind);
      await this.#update(kind);
    }
    return this.#states.get(kind) as IndexState;
  }

  #update(kind: SlugTable): Promise<void> {
    let running = this.#updates.get(kind);
    if (!running) {
      running = this.#readNewest(kind).finally(() => this.#updates.delete(kind));
      this.#updates.set(kind, running);
    }
    return running;
  }

  async #readNewest(kind: SlugTable): Promise<void> {
    const state = this.#states.get(kind);
    const changed = state ? await readChanges(this.#database, kind, state) : 'useless';
    if (changed === 'too many') this.#behind.add(kind);
    else this.#states.set(kind, changed === 'useless' ? await this.#load(kind) : changed);
    if (this.#behind.has(kind) || this.#states.get(kind)?.index.isWorn()) this.#renew(kind);
  }

  #load(kind: SlugTable): Promise<IndexState> {
    return loadIndex(this.#database, kind, this.#stopping.signal);
  }

  /** Loads a new index while the old one is in use. The next update applies what was written meanwhile. */
  #renew(kind: SlugTable): void {
    if (this.#renewals.has(kind)) return;
    const replace = async () => {
      const loaded = await this.#load(kind);
      // An update that begins from the old index would put that back.
      for (let running = this.#updates.get(kind); running; running = this.#updates.get(kind))
        await running.catch(() => {});
      this.#states.set(kind, loaded);
    };
    const renewal = replace().finally(() => {
      this.#renewals.delete(kind);
      this.#behind.delete(kind);
    });
    // The next change tries again.
    renewal.catch(() => {});
    this.#renewals.set(kind, renewal);
  }
}

function isNarrowed({
  filters = [],
  sort,
  facets = [],
  isNewest = false,
}: Query & { isNewest?: boolean }) {
  return filters.length + facets.length > 0 || sort !== undefined || isNewest;
}
