/**
 * The numbers of the entries of an index, by slot: an entry that is written again gets a new slot. Typed arrays, because
 * there may be a million entries.
 */
import { bitsFor, hasBit, setBit } from './bits.ts';
import { unmatched, type FieldText } from './segment.ts';
import { noValues, Values, type ValueNames } from './values.ts';
import type { EntryValues, Filter } from './values.ts';

/** What the index knows of an entry besides its texts. `ordinal` is a number that the entry keeps in the database. */
export type EntryNumbers = {
  ordinal: number;
  members: number;
  listed: boolean;
  /** Default: none. */
  values?: EntryValues;
};
export type IndexedEntry = EntryNumbers & { texts: FieldText[] };
/** `after` is the ordinal of the entry before it in the order of names, or null for the first one. */
export type WrittenEntry = IndexedEntry & { after: number | null };

/** The slots that a search matches, unless it looks at whole sets of them. */
export type Hits = {
  slots: Uint32Array;
  count: number;
  /** How well each slot matches; a smaller level is a better match. */
  levels: Uint8Array;
  /** The levels of the term that is added, for some of the slots. All `unmatched` between terms. */
  otherLevels: Uint8Array;
};

/** A part of a list in order. */
export type Window = { offset: number; limit: number };

/** The unlisted entries that a search may find: none, all, or those with these ordinals. */
export type Unlisted = 'none' | 'all' | number[];

/** Members beyond this count as this many, so that a level, they and a position fit into the 53 bits of a number. */
const membersMax = 2 ** 27 - 1;
const positionsMax = 2 ** 22;
const keysPerLevel = (membersMax + 1) * positionsMax;

export class Entries {
  /** The number of slots, including those of removed entries. */
  slots = 0;
  /** Any number, although only so many count in a sort key. */
  members = new Float64Array(0);
  readonly values: Values;
  /** Space for the hits of a search. Empty between searches. */
  hits = createHits(0);
  /** The slots of entries that are not removed, and those of them that are listed. */
  #present = new Uint32Array(0);
  #listed = new Uint32Array(0);
  #ordinals = new Int32Array(0);
  #slotOf = new Int32Array(0);
  /** The slots in the order of names, and the place of each slot in it. */
  #order = new Uint32Array(0);
  #positions = new Uint32Array(0);

  constructor(names: ValueNames = noValues) {
    this.values = new Values(names);
  }

  /** Makes space for so many entries, and for some that are written later. */
  reserve(slots: number): void {
    this.#grow(slots);
    this.#growSlotOf(slots);
  }

  /** Orders hits by level, then by members, most first, and then by name. */
  sortKey(slot: number, level: number): number {
    const members = Math.min(this.members[slot] as number, membersMax);
    const position = this.#positions[slot] as number;
    return level * keysPerLevel + (membersMax - members) * positionsMax + position;
  }

  levelOfKey(key: number): number {
    return Math.floor(key / keysPerLevel);
  }

  membersOfKey(key: number): number {
    return membersMax - Math.floor((key % keysPerLevel) / positionsMax);
  }

  ordinalOfKey(key: number): number {
    return this.#ordinals[this.#order[key % positionsMax] as number] as number;
  }

  /** Returns the slot of the new entry. `reorder` gives it its place in the order of names. */
  add({ ordinal, members, listed, values }: EntryNumbers): number {
    const slot = this.slots;
    this.slots += 1;
    this.#grow(this.slots);
    this.#ordinals[slot] = ordinal;
    this.members[slot] = members;
    if (values) this.values.set(slot, values);
    setBit(this.#present, slot, true);
    setBit(this.#listed, slot, listed);
    this.#growSlotOf(ordinal + 1);
    this.#slotOf[ordinal] = slot;
    return slot;
  }

  /** Returns the slot that the entry had, or -1. */
  remove(ordinal: number): number {
    const slot = this.#slotOf[ordinal] ?? -1;
    if (slot === -1) return -1;
    this.#slotOf[ordinal] = -1;
    setBit(this.#present, slot, false);
    setBit(this.#listed, slot, false);
    return slot;
  }

  adjust({ ordinal, members, listed, values }: EntryNumbers): void {
    const slot = this.#slotOf[ordinal] ?? -1;
    if (slot === -1) return;
    setBit(this.#listed, slot, listed);
    this.members[slot] = members;
    if (values) this.values.set(slot, values);
  }

  /** Runs `find` with the set of slots that it may find. */
  seeing<Result>(which: Unlisted, find: (visible: Uint32Array) => Result): Result {
    if (which === 'all') return find(this.#present);
    const slots = (which === 'none' ? [] : which)
      .map((ordinal) => this.#slotOf[ordinal] ?? -1)
      .filter((slot) => slot !== -1 && !hasBit(this.#listed, slot));
    for (const slot of slots) setBit(this.#listed, slot, true);
    try {
      return find(this.#listed);
    } finally {
      for (const slot of slots) setBit(this.#listed, slot, false);
    }
  }

  ordinalOf(slot: number): number {
    return this.#ordinals[slot] as number;
  }

  /** Those of the slots that meet every filter. */
  filter(slots: Uint32Array, filters: Filter[]): Uint32Array {
    return this.values.filter(slots, filters, (name) => this.#keys(name));
  }

  /** The slots in this window of the order by a field, `-` for the reverse. Changes the order of `slots`. */
  sort(slots: Uint32Array, { sort, ...window }: { sort: string } & Window): Uint32Array {
    const descending = sort.startsWith('-');
    const keys = this.#keys(descending ? sort.slice(1) : sort);
    return this.values.sort(slots, { keys, descending, ...window });
  }

  #keys(name: string): ArrayLike<number> {
    if (name === 'name') return this.#positions;
    return name === 'memberCount' ? this.members : this.values.numbers(name);
  }

  /** For the first entries, which come in the order of names. */
  orderAsAdded(): void {
    const order = new Uint32Array(this.slots);
    for (let slot = 0; slot < order.length; slot += 1) order[slot] = slot;
    this.#setOrder(order);
  }

  /**
   * Puts added entries at their places in the order of names. They are in that order themselves. Returns false if one of
   * them has no place, because the entry before it is unknown.
   */
  reorder(written: WrittenEntry[]): boolean {
    const added = new Set<number>();
    const followers = new Map<number, number>();
    for (const { ordinal, after } of written) {
      const slot = this.#slotOf[ordinal] as number;
      const before = after === null ? -1 : (this.#slotOf[after] ?? -1);
      if (after !== null && before === -1) return false;
      added.add(slot);
      followers.set(before, slot);
    }
    const order = new Uint32Array(this.#order.length + added.size);
    // Quicker for a million entries than to look for each one's follower.
    const isFollowed = new Uint32Array(bitsFor(this.slots));
    for (const slot of followers.keys()) if (slot !== -1) setBit(isFollowed, slot, true);
    let length = 0;
    const place = (first: number | undefined) => {
      for (let slot = first; slot !== undefined; slot = followers.get(slot)) order[length++] = slot;
    };
    place(followers.get(-1));
    for (const slot of this.#order) {
      if (!hasBit(this.#present, slot)) continue;
      order[length++] = slot;
      if (hasBit(isFollowed, slot)) place(followers.get(slot));
    }
    this.#setOrder(order.slice(0, length));
    return [...added].every((slot) => order[this.#positions[slot] as number] === slot);
  }

  #setOrder(order: Uint32Array<ArrayBuffer>): void {
    this.#order = order;
    for (let position = 0; position < order.length; position += 1)
      this.#positions[order[position] as number] = position;
  }

  #growSlotOf(ordinals: number): void {
    if (ordinals <= this.#slotOf.length) return;
    this.#slotOf = enlarged(this.#slotOf, new Int32Array(roomFor(ordinals)).fill(-1));
  }

  #grow(slots: number): void {
    if (slots <= this.#ordinals.length) return;
    const room = roomFor(slots);
    this.#ordinals = enlarged(this.#ordinals, new Int32Array(room));
    this.members = enlarged(this.members, new Float64Array(room));
    this.values.grow(room);
    this.#positions = enlarged(this.#positions, new Uint32Array(room));
    this.#present = enlarged(this.#present, new Uint32Array(bitsFor(room)));
    this.#listed = enlarged(this.#listed, new Uint32Array(bitsFor(room)));
    this.hits = createHits(room);
  }
}

function createHits(room: number): Hits {
  return {
    slots: new Uint32Array(room),
    count: 0,
    levels: new Uint8Array(room).fill(unmatched),
    otherLevels: new Uint8Array(room).fill(unmatched),
  };
}

/** More than are written until a new index is loaded, so a large one is never copied. */
const spare = 4_096;

function roomFor(length: number): number {
  return length + spare;
}

function enlarged<Numbers extends Int32Array | Uint32Array | Float64Array>(
  from: Numbers,
  to: Numbers,
): Numbers {
  to.set(from);
  return to;
}
