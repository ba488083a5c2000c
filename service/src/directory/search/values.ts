/**
 * What filters, facets and sorts need of the entries of an index, by slot. Typed arrays, because there may be a million
 * entries.
 */
import { randomInt } from 'node:crypto';

/**
 * The values of an entry. `choices` are shared by many entries, and each may have several, with a `valueSeparator` in
 * between; `texts` are hardly shared.
 */
export type EntryValues = {
  id: string;
  choices: string[];
  texts: (string | null)[];
  numbers: number[];
};
/** The names of those of a kind, in the same order. */
export type ValueNames = { choices: string[]; texts: string[]; numbers: string[] };
export const noValues: ValueNames = { choices: [], texts: [], numbers: [] };

/** Keeps entries with one of the values, or with a number in this range. */
export type Filter = { name: string } & ({ values: string[] } | { min: number; max: number });
export type Counted = { value: string; count: number };

/** A control character. */
export const valueSeparator = '\u0002';

const idWords = 4;
const digitsPerWord = 8;
const hyphen = 45;
const letterA = 65;

export class Values {
  readonly #choices: Map<string, Choices>;
  readonly #texts: Map<string, Float64Array>;
  readonly #numbers: Map<string, Float64Array>;
  /** Four numbers of 32 bits per slot. */
  #ids = new Uint32Array(0);

  constructor({ choices, texts, numbers }: ValueNames) {
    this.#choices = new Map(choices.map((name) => [name, new Choices()]));
    this.#texts = new Map(texts.map((name) => [name, new Float64Array(0)]));
    this.#numbers = new Map(numbers.map((name) => [name, new Float64Array(0)]));
  }

  grow(room: number): void {
    for (const choices of this.#choices.values()) choices.grow(room);
    for (const columns of [this.#texts, this.#numbers])
      for (const [name, column] of columns) columns.set(name, enlarged(column, room));
    const ids = new Uint32Array(room * idWords);
    ids.set(this.#ids);
    this.#ids = ids;
  }

  set(slot: number, { id, choices, texts, numbers }: EntryValues): void {
    this.#setId(slot, id);
    let at = 0;
    for (const column of this.#choices.values()) column.set(slot, choices[at++] ?? '');
    at = 0;
    for (const column of this.#texts.values()) column[slot] = hashOf(texts[at++] ?? null);
    at = 0;
    for (const column of this.#numbers.values()) column[slot] = numbers[at++] ?? Number.NaN;
  }

  /** Without `parseInt`, which takes ten times as long. */
  #setId(slot: number, id: string): void {
    let digits = 0;
    let word = 0;
    for (let at = 0; at < id.length; at += 1) {
      const code = id.charCodeAt(at);
      if (code === hyphen) continue;
      word = (word << 4) | ((code & 15) + (code >= letterA ? 9 : 0));
      digits += 1;
      if (digits % digitsPerWord === 0)
        this.#ids[slot * idWords + digits / digitsPerWord - 1] = word;
    }
  }

  /** Those of the slots that meet every filter. */
  filter(slots: Uint32Array, filters: Filter[], keysOf: KeysOf): Uint32Array {
    return filters.reduce((left, filter) => left.filter(this.#meets(filter, keysOf)), slots);
  }

  /** How often each value of a choice occurs among the slots. */
  count(slots: Uint32Array, name: string): Counted[] {
    return this.#choices.get(name)?.count(slots) ?? [];
  }

  /** The slots in this window of the order by a number, and then by id. Changes the order of `slots`. */
  sort(slots: Uint32Array, { keys, descending, offset, limit }: Order): Uint32Array {
    const compare = (a: number, b: number) => {
      const order = (keys[a] as number) - (keys[b] as number) || this.#compareIds(a, b);
      return descending ? -order : order;
    };
    const end = Math.min(offset + limit, slots.length);
    if (offset >= end) return slots.subarray(0, 0);
    select(slots, offset, 0, compare);
    if (end < slots.length) select(slots, end, offset, compare);
    return slots.subarray(offset, end).sort(compare);
  }

  numbers(name: string): ArrayLike<number> {
    return this.#numbers.get(name) ?? [];
  }

  /** Whether changes have left many values behind that nobody has any more. */
  isWorn(): boolean {
    return [...this.#choices.values()].some((choices) => choices.isWorn());
  }

  /** Call when all of the first entries are there. */
  settle(): void {
    for (const choices of this.#choices.values()) choices.settle();
  }

  #meets(filter: Filter, keysOf: KeysOf): (slot: number) => boolean {
    const { name } = filter;
    if ('min' in filter) {
      const keys = keysOf(name);
      const { min, max } = filter;
      return (slot) => (keys[slot] as number) >= min && (keys[slot] as number) <= max;
    }
    const column = this.#texts.get(name);
    if (!column) return this.#choices.get(name)?.having(filter.values) ?? (() => false);
    const hashes = new Set(filter.values.map(hashOf));
    return (slot) => hashes.has(column[slot] as number);
  }

  #compareIds(a: number, b: number): number {
    const [left, right] = [a * idWords, b * idWords];
    for (let word = 0; word < idWords; word += 1) {
      const order = (this.#ids[left + word] as number) - (this.#ids[right + word] as number);
      if (order !== 0) return order;
    }
    return 0;
  }
}

type KeysOf = (name: string) => ArrayLike<number>;
type Order = { keys: ArrayLike<number>; descending: boolean; offset: number; limit: number };

/** Each slot has the number of a set of values, which nearly all entries share with others. */
class Choices {
  readonly #sets: string[][] = [];
  readonly #numberOf = new Map<string, number>();
  /** Wide enough for the number of sets. */
  #codes: Uint8Array | Uint16Array | Uint32Array = new Uint8Array(0);
  #settledSets = 0;

  grow(room: number): void {
    const codes = codesFor(this.#sets.length, room);
    codes.set(this.#codes);
    this.#codes = codes;
  }

  set(slot: number, values: string): void {
    let number = this.#numberOf.get(values);
    if (number === undefined) {
      // A copy: V8 keeps a whole text in memory for as long as a part of it is in use.
      const own = Buffer.from(values).toString();
      const set = own === '' ? [] : new Set(own.split(valueSeparator));
      number = this.#sets.push([...set]) - 1;
      this.#numberOf.set(own, number);
      if (this.#sets.length > 2 ** (8 * this.#codes.BYTES_PER_ELEMENT))
        this.grow(this.#codes.length);
    }
    this.#codes[slot] = number;
  }

  having(values: string[]): (slot: number) => boolean {
    const wanted = new Set(values);
    const fits = Uint8Array.from(this.#sets, (set) =>
      set.some((value) => wanted.has(value)) ? 1 : 0,
    );
    const codes = this.#codes;
    return (slot) => fits[codes[slot] as number] === 1;
  }

  count(slots: Uint32Array): Counted[] {
    const codes = this.#codes;
    const ofSets = new Uint32Array(this.#sets.length);
    for (let at = 0; at < slots.length; at += 1) {
      const code = codes[slots[at] as number] as number;
      ofSets[code] = (ofSets[code] as number) + 1;
    }
    const counts = new Map<string, number>();
    for (const [number, count] of ofSets.entries()) {
      if (count === 0) continue;
      for (const value of this.#sets[number] ?? [])
        counts.set(value, (counts.get(value) ?? 0) + count);
    }
    return [...counts].map(([value, count]) => ({ value, count }));
  }

  isWorn(): boolean {
    return this.#sets.length > 2 * this.#settledSets + setsLeftMax;
  }

  settle(): void {
    this.#settledSets = this.#sets.length;
  }
}

const setsLeftMax = 10_000;

function codesFor(sets: number, room: number): Uint8Array | Uint16Array | Uint32Array {
  if (sets <= 2 ** 8) return new Uint8Array(room);
  return sets <= 2 ** 16 ? new Uint16Array(room) : new Uint32Array(room);
}

function enlarged(from: Float64Array, room: number): Float64Array {
  const to = new Float64Array(room).fill(Number.NaN);
  to.set(from);
  return to;
}

const seed = randomInt(2 ** 32);

/** 53 bits, so that no two of a million texts have the same; NaN, which equals nothing, for no text (cyrb53). */
function hashOf(text: string | null): number {
  if (text === null) return Number.NaN;
  let [high, low] = [0xdeadbeef ^ seed, 0x41c6ce57 ^ seed];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}

/** Puts the element that belongs at `rank` there, smaller ones before it and larger ones after it (quickselect). */
function select(
  slots: Uint32Array,
  rank: number,
  first: number,
  compare: (a: number, b: number) => number,
): void {
  let [low, high] = [first, slots.length - 1];
  while (low < high) {
    const pivot = slots[(low + high) >>> 1] as number;
    let [left, right] = [low, high];
    while (left <= right) {
      while (compare(slots[left] as number, pivot) < 0) left += 1;
      while (compare(slots[right] as number, pivot) > 0) right -= 1;
      if (left > right) break;
      const moved = slots[left] as number;
      slots[left] = slots[right] as number;
      slots[right] = moved;
      left += 1;
      right -= 1;
    }
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else return;
  }
}
