/**
 * Searches the directory in memory (docs/decisions/0032-search.md). A process has one index per kind, which belongs to a
 * revision, like a cached page: before a search it applies what was written since then. The first search loads it.
 */
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import type { SlugTable } from '../lock-directory.ts';
import { loadIndex, readChanges, sources, type IndexState } from './load-index.ts';
import type { Found, Window } from './match.ts';
import { termsOf } from './words.ts';

/** What a search found, and the revision of the index in which it was found. */
export type FoundAt = Found & { revision: number };
export type Search = {
  /**
   * Returns null if the text has no words. Finds what was written at least a second ago or, if `isNewest` is set,
   * everything that is committed.
   */
  find(
    kind: SlugTable,
    text: string,
    window: Window & { isNewest?: boolean },
  ): Promise<FoundAt | null>;
};

export function createSearch(database: Database, revisions: Revisions): Search {
  const states = new Map<SlugTable, IndexState>();
  const updates = new Map<SlugTable, Promise<void>>();
  const renewals = new Set<SlugTable>();

  function update(kind: SlugTable): Promise<void> {
    let running = updates.get(kind);
    if (!running) {
      running = readNewest(kind).finally(() => updates.delete(kind));
      updates.set(kind, running);
    }
    return running;
  }

  async function readNewest(kind: SlugTable): Promise<void> {
    const state = states.get(kind);
    const changed = state ? await readChanges(database, kind, state) : null;
    states.set(kind, changed ?? (await loadIndex(database, kind)));
    if (changed?.index.isWorn()) void renew(kind);
  }

  /** Loads a new index while the old one is in use. The next update applies what was written meanwhile. */
  async function renew(kind: SlugTable): Promise<void> {
    if (renewals.has(kind)) return;
    renewals.add(kind);
    try {
      const loaded = await loadIndex(database, kind);
      // An update that begins from the old index would put that back.
      for (let running = updates.get(kind); running; running = updates.get(kind))
        await running.catch(() => {});
      states.set(kind, loaded);
    } catch {
      // The next change tries again.
    } finally {
      renewals.delete(kind);
    }
  }

  async function current(kind: SlugTable, isNewest: boolean): Promise<IndexState> {
    const wanted = isNewest ? null : revisions.current(sources[kind].scope);
    const known = states.get(kind);
    if (known && known.revision === wanted) return known;
    // An update that is running may have begun before the newest write.
    await updates.get(kind)?.catch(() => {});
    if (states.get(kind)?.revision !== wanted || wanted === null) await update(kind);
    return states.get(kind) as IndexState;
  }

  revisions.onMove((scope) => {
    // If it fails, the next search tries again and reports it.
    for (const kind of states.keys())
      if (sources[kind].scope === scope) update(kind).catch(() => {});
  });

  return {
    async find(kind, text, window) {
      const terms = termsOf(text);
      if (terms.length === 0) return null;
      const { index, revision } = await current(kind, window.isNewest === true);
      return { ...index.find(terms, window), revision };
    },
  };
}
