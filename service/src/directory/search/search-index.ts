/**
 * Finds the entries of one kind in memory, and ranks them. Most entries are in one segment. Those that were written later
 * are in a second one, which is built again after a change; when it is large, `search.ts` loads a new index.
 */
import { countBits } from './bits.ts';
import { Entries, type EntryNumbers, type IndexedEntry, type WrittenEntry } from './entries.ts';
import { match, typosIn, type Found, type Wanted, type Window } from './match.ts';
import { relax } from './relax.ts';
import { createSegmentBuilder, type FieldText, type Segment } from './segment.ts';
import type { Term } from './terms.ts';

export type Changes = {
  /** New entries, and those with other texts than before, in the order of names. */
  written: WrittenEntry[];
  /** Entries with another number of members, or another `listed`. */
  adjusted: EntryNumbers[];
  removed: number[];
};

/** How something was found: whether the search was relaxed, and the words that it left out. */
export type Result = Found & { isRelaxed: boolean; ignored: string[] };

export type SearchIndex = {
  /**
   * Finds entries in which every term is part of a word. If they do not fill a page, mistyped words match too. If nothing
   * is found, looks for something like it, except with `relaxes: false`.
   */
  find(terms: Term[], window: Window & { relaxes?: boolean }): Result;
  /** Returns false if the index is no longer of use, because something is missing in it. */
  apply(changes: Changes): boolean;
  /** Whether so much was written that a new index is faster. */
  isWorn(): boolean;
};

/** Rebuilding the segment of these takes some milliseconds. */
const writtenMax = 2_000;

export function createIndexBuilder() {
  const segment = createSegmentBuilder(0);
  const entries = new Entries();
  return {
    /** Entries come in the order of their names. */
    add(entry: IndexedEntry): void {
      segment.add(entries.add(entry), entry.texts);
    },
    build(): SearchIndex {
      entries.orderAsAdded();
      return createIndex(segment.build(), entries);
    },
  };
}

function createIndex(main: Segment, entries: Entries): SearchIndex {
  const firstSlots = entries.slots;
  const written = new Map<number, FieldText[]>();
  let segments: Segment[] | null = null;

  /** Built by the first search after a change, not by each change. */
  function currentSegments(): Segment[] {
    if (segments !== null) return segments;
    const builder = createSegmentBuilder(firstSlots);
    for (const [slot, texts] of written) builder.add(slot, texts);
    segments = [main, builder.build()];
    return segments;
  }

  return {
    find(terms, window) {
      const all = currentSegments();
      return entries.seeing(window.unlisted ?? 'none', (visible) => {
        const search = (wanted: Wanted) => match(entries, all, wanted, { window, visible });
        const asTyped = (found: Found): Result => ({ ...found, isRelaxed: false, ignored: [] });
        const exact = search({ terms, typos: 'none' });
        if (exact.total >= window.pageSize) return asTyped(exact);
        const hasTypos = terms.some((term) => typosIn(term, 'usual') > 0);
        const close = hasTypos ? search({ terms, typos: 'usual' }) : exact;
        if (close.total > 0 || window.relaxes === false) return asTyped(close);
        const relaxed = relax(terms, search, countBits(visible));
        if (!relaxed) return asTyped(close);
        return { ...relaxed.found, isRelaxed: true, ignored: relaxed.ignored };
      });
    },
    apply(changes) {
      for (const entry of changes.adjusted) entries.adjust(entry);
      if (changes.written.length + changes.removed.length === 0) return true;
      for (const ordinal of [...changes.removed, ...changes.written.map((entry) => entry.ordinal)])
        written.delete(entries.remove(ordinal));
      for (const entry of changes.written) written.set(entries.add(entry), entry.texts);
      segments = null;
      return entries.reorder(changes.written);
    },
    isWorn: () => entries.slots - firstSlots > writtenMax,
  };
}
