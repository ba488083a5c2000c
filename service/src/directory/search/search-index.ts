/**
 * Finds the entries of one kind in memory, and ranks them. Most entries are in one segment. Those that were written later
 * are in a second one, which is built again after a change; when it is large, `search.ts` loads a new index.
 */
import { bitsFor, countBits, numbersIn, setOf } from './bits.ts';
import { Entries, type EntryNumbers, type IndexedEntry } from './entries.ts';
import type { Unlisted, Window, WrittenEntry } from './entries.ts';
import { match, typosIn, type Among, type Found, type Wanted } from './match.ts';
import { relax } from './relax.ts';
import { createSegmentBuilder, type FieldText, type Segment } from './segment.ts';
import { finish, type Steps } from './steps.ts';
import type { Term } from './terms.ts';
import type { Counted, Filter, ValueNames } from './values.ts';

export type Changes = {
  /** New entries, and those with other texts than before, in the order of names. */
  written: WrittenEntry[];
  /** Entries with the same texts, but other numbers or values. */
  adjusted: EntryNumbers[];
  removed: number[];
};

export type Query = Window & {
  /** Mistyped words match only if fewer entries than this are found without them. */
  pageSize: number;
  /** Default: none. */
  unlisted?: Unlisted;
  /** Whether a search that finds nothing looks for something like it. Default: true. */
  relaxes?: boolean;
  /** They play no part in how a search is understood. */
  filters?: Filter[];
  /** A field, `-` for the reverse. Default: by relevance, without terms by name. */
  sort?: string | undefined;
  /** The values to count among all that is found. */
  facets?: string[] | undefined;
};
/** How something was found: whether the search was relaxed, and the words that it left out. */
export type Result = Found & {
  isRelaxed: boolean;
  ignored: string[];
  facets: Record<string, Counted[]>;
};

/** Rebuilding the segment of these takes some milliseconds. */
const writtenMax = 2_000;

/** `size` entries are expected. */
export function createIndexBuilder(names?: ValueNames, size = 0) {
  const segment = createSegmentBuilder(0);
  const entries = new Entries(names);
  entries.reserve(size);
  return {
    /** Entries come in the order of their names. */
    add(entry: IndexedEntry): void {
      segment.add(entries.add(entry), entry.texts);
    },
    *build(): Steps<SearchIndex> {
      entries.orderAsAdded();
      entries.values.settle();
      return new SearchIndex(yield* segment.build(), entries);
    },
  };
}

/** For a search of which only the total, or the set of what it matches, is wanted. */
const nothing: Window = { offset: 0, limit: 0 };

export class SearchIndex {
  readonly #entries: Entries;
  readonly #main: Segment;
  readonly #firstSlots: number;
  readonly #written = new Map<number, FieldText[]>();
  #segments: Segment[] | null = null;

  constructor(main: Segment, entries: Entries) {
    this.#main = main;
    this.#entries = entries;
    this.#firstSlots = entries.slots;
  }

  /**
   * Finds entries in which every term is part of a word, all without terms. If they do not fill a page, mistyped words match
   * too. If nothing is found, looks for something like it.
   */
  find(terms: Term[], query: Query): Result {
    return this.#entries.seeing(query.unlisted ?? 'none', (visible) => {
      const { filters = [], sort, facets = [] } = query;
      const isNarrowed = filters.length + facets.length > 0 || sort !== undefined;
      const asked = isNarrowed ? { ...query, ...nothing } : query;
      const understood = terms.length > 0 ? this.#understand(terms, asked, visible) : null;
      if (understood && !isNarrowed) {
        const { found, isRelaxed, ignored } = understood;
        return { ...found, isRelaxed, ignored, facets: {} };
      }
      const { wanted, isRelaxed, ignored } = understood ?? asTyped({ terms, typos: 'none' });
      const { slots, ...found } = this.#pick(wanted, query, this.#filter(visible, filters));
      return { ...found, isRelaxed, ignored, facets: this.#count(slots, facets) };
    });
  }

  /** Returns false if the index is no longer of use, because something is missing in it. */
  apply({ written, adjusted, removed }: Changes): boolean {
    const entries = this.#entries;
    for (const entry of adjusted) entries.adjust(entry);
    if (written.length + removed.length === 0) return true;
    for (const ordinal of [...removed, ...written.map((entry) => entry.ordinal)])
      this.#written.delete(entries.remove(ordinal));
    for (const entry of written) this.#written.set(entries.add(entry), entry.texts);
    this.#segments = null;
    return entries.reorder(written);
  }

  /** Whether so much was written that a new index is faster. */
  isWorn(): boolean {
    return this.#entries.slots - this.#firstSlots > writtenMax || this.#entries.values.isWorn();
  }

  /** Decides how a search is understood, by all that the caller may see. */
  #understand(terms: Term[], query: Query, visible: Uint32Array) {
    const search = (wanted: Wanted) => this.#match(wanted, { window: query, visible });
    const exact: Wanted = { terms, typos: 'none' };
    const found = search(exact);
    if (found.total >= query.pageSize) return { ...asTyped(exact), found };
    const hasTypos = terms.some((term) => typosIn(term, 'usual') > 0);
    const wanted: Wanted = hasTypos ? { terms, typos: 'usual' } : exact;
    const close = hasTypos ? search(wanted) : found;
    const relaxes = close.total === 0 && query.relaxes !== false;
    const relaxed = relaxes ? relax(terms, search, countBits(visible)) : null;
    return relaxed ? { ...relaxed, isRelaxed: true } : { ...asTyped(wanted), found: close };
  }

  #filter(visible: Uint32Array, filters: Filter[]): Uint32Array {
    if (filters.length === 0) return visible;
    const entries = this.#entries;
    return setOf(entries.filter(numbersIn(visible), filters), entries.slots);
  }

  /** What is wanted among some of the entries, in the order of the query, and the slots of all that match. */
  #pick(wanted: Wanted, query: Query, among: Uint32Array): Found & { slots: Uint32Array } {
    const entries = this.#entries;
    const matched = new Uint32Array(bitsFor(entries.slots));
    const { sort = 'name', offset, limit } = query;
    if (wanted.terms.length === 0) matched.set(among.subarray(0, matched.length));
    else {
      const isRanked = query.sort === undefined;
      const window = isRanked ? query : nothing;
      const found = this.#match(wanted, { window, visible: among, matched });
      if (isRanked) return { ...found, slots: numbersIn(matched) };
    }
    const slots = numbersIn(matched);
    const page = entries.sort(slots, { sort, offset, limit });
    const ordinals = Array.from(page, (slot) => entries.ordinalOf(slot));
    // How well each entry of the page matches.
    const window = { offset: 0, limit: page.length };
    const ranked = this.#match(wanted, { window, visible: setOf(page, entries.slots) });
    const levelOf = new Map(
      ranked.ordinals.map((ordinal, at) => [ordinal, ranked.levels[at] ?? 0]),
    );
    const levels = ordinals.map((ordinal) => levelOf.get(ordinal) ?? 0);
    return { total: slots.length, ordinals, levels, slots };
  }

  #count(slots: Uint32Array, facets: string[]): Record<string, Counted[]> {
    const counts = facets.map((name) => [name, this.#entries.values.count(slots, name)] as const);
    return Object.fromEntries(counts);
  }

  #match(wanted: Wanted, among: Among): Found {
    return match(this.#entries, this.#currentSegments(), wanted, among);
  }

  /** Built by the first search after a change, not by each change. */
  #currentSegments(): Segment[] {
    if (this.#segments !== null) return this.#segments;
    const builder = createSegmentBuilder(this.#firstSlots);
    for (const [slot, texts] of this.#written) builder.add(slot, texts);
    this.#segments = [this.#main, finish(builder.build())];
    return this.#segments;
  }
}

function asTyped(wanted: Wanted) {
  return { wanted, isRelaxed: false, ignored: [] as string[] };
}
