/**
 * Searches the directory in memory (docs/decisions/0032-search.md). A process has one index per kind, which belongs to a
 * revision, like a cached page: before a search it applies what was written since then. The first search loads it.
 */
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import type { SlugTable } from '../lock-directory.ts';
import { loadIndex, readChanges, sources, type IndexState } from './load-index.ts';
import type { Query, Result } from './search-index.ts';
import { termsOf } from './terms.ts';

/** What a search found, and the revision of the index in which it was found. */
export type FoundAt = Result & { revision: number };

export class Search {
  readonly #database: Database;
  readonly #revisions: Revisions;
  readonly #states = new Map<SlugTable, IndexState>();
  readonly #updates = new Map<SlugTable, Promise<void>>();
  readonly #renewals = new Set<SlugTable>();

  constructor(database: Database, revisions: Revisions) {
    this.#database = database;
    this.#revisions = revisions;
    revisions.onMove((scope) => {
      // If it fails, the next search tries again and reports it.
      for (const kind of this.#states.keys())
        if (sources[kind].scope === scope) this.#update(kind).catch(() => {});
    });
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

  async #current(kind: SlugTable, isNewest: boolean): Promise<IndexState> {
    const wanted = isNewest ? null : this.#revisions.current(sources[kind].scope);
    const known = this.#states.get(kind);
    if (known && known.revision === wanted) return known;
    // An update that is running may have begun before the newest write.
    await this.#updates.get(kind)?.catch(() => {});
    if (this.#states.get(kind)?.revision !== wanted || wanted === null) await this.#update(kind);
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
    const changed = state ? await readChanges(this.#database, kind, state) : null;
    this.#states.set(kind, changed ?? (await loadIndex(this.#database, kind)));
    if (changed?.index.isWorn()) void this.#renew(kind);
  }

  /** Loads a new index while the old one is in use. The next update applies what was written meanwhile. */
  async #renew(kind: SlugTable): Promise<void> {
    if (this.#renewals.has(kind)) return;
    this.#renewals.add(kind);
    try {
      const loaded = await loadIndex(this.#database, kind);
      // An update that begins from the old index would put that back.
      for (let running = this.#updates.get(kind); running; running = this.#updates.get(kind))
        await running.catch(() => {});
      this.#states.set(kind, loaded);
    } catch {
      // The next change tries again.
    } finally {
      this.#renewals.delete(kind);
    }
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
