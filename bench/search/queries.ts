/** Judged queries, made from names by rule: what somebody types, and the name that they mean. */
import type { Random } from '../../harness/random.ts';

/** `expected` is the index of a name, or null if nothing should be found. */
export type Query = { kind: string; text: string; expected: number | null };

type Rule = {
  kind: string;
  /** What is typed instead of the name, or null if the rule does not fit the name. */
  type: (name: string, random: Random) => string | null;
  /** What the name becomes before it is stored, for spellings that the names do not have. */
  store?: (name: string) => string | null;
};

const legalForms = [
  [/\bLtd\b\.?/i, 'Limited'],
  [/\bLimited\b/i, 'Ltd'],
  [/\bCorp\b\.?/i, 'Corporation'],
  [/\bCorporation\b/i, 'Corp'],
  [/\bInc\b\.?/i, 'Incorporated'],
] as const;
const anyForm =
  /[\s,.，]*\b(Co|Company|Ltd|Limited|Corp|Corporation|Inc|Incorporated|GmbH|AG|LLC|S\.?p\.?A|B\.?V|S\.?A|S\.?r\.?l)\b\.?/gi;
const umlauts: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue' };
/** As passports are written. */
const cyrillic: Record<string, string> = Object.fromEntries(
  'a-а b-б v-в g-г d-д e-е z-з i-и k-к l-л m-м n-н o-о p-п r-р s-с t-т u-у f-ф zh-ж kh-х ts-ц ch-ч sh-ш yu-ю ya-я'
    .split(' ')
    .map((pair) => pair.split('-')),
);
const inPassport = /zh|kh|ts|ch|sh|yu|ya|[abvgdeziklmnoprstuf]/g;
const tooMany = [
  'official',
  'website',
  'headquarters',
  'contact',
  'homepage',
  'careers',
  'support',
];

const rules: Rule[] = [
  { kind: 'whole name', type: (name) => name },
  {
    kind: 'without legal form',
    type: (name) => ifChanged(name, name.replace(anyForm, ' ').trim()),
  },
  { kind: 'first two words', type: (name) => wordsOf(name).slice(0, 2).join(' ') },
  {
    kind: 'start of the name',
    type: (name, random) =>
      name.length < 8 ? null : name.slice(0, 6 + random.below(name.length - 7)),
  },
  {
    kind: 'words in another order',
    type(name) {
      const [first, second, ...rest] = wordsOf(name);
      return first && second ? [second, first, ...rest].join(' ') : null;
    },
  },
  { kind: 'one word mistyped', type: (name, random) => mistypeWords(name, random, 1) },
  { kind: 'both words mistyped', type: (name, random) => mistypeWords(name, random, 2) },
  {
    kind: 'four letters, one wrong',
    type(name, random) {
      const word = wordsOf(name).find((each) => /^[a-z]{4}$/i.test(each));
      if (!word || wordsOf(name)[0] !== word) return null;
      const at = random.below(4);
      return word.slice(0, at) + otherLetter(word[at] as string, random) + word.slice(at + 1);
    },
  },
  { kind: '& for and', type: (name) => ifChanged(name, name.replace(/\band\b/i, '&')) },
  { kind: 'and for &', type: (name) => ifChanged(name, name.replace(/(?<=\s)&(?=\s)/, 'and')) },
  {
    kind: 'another legal form',
    type(name) {
      const [from, to] = legalForms.find(([form]) => form.test(name)) ?? [];
      return from && to ? `${distinctive(name)} ${name.match(from) ? to : ''}` : null;
    },
  },
  {
    kind: 'abbreviation without dots',
    type(name) {
      const words = name.split(/\s+/);
      if (!words.some((word) => /^(\p{L}\.){2,}\p{L}?$/u.test(word))) return null;
      return words.map((word) => word.replaceAll('.', '')).join(' ');
    },
  },
  {
    kind: 'two words joined',
    type(name) {
      const [first = '', second = ''] = name.split(/[\s-]+/);
      return /^\p{L}{2,}$/u.test(first) && /^\p{L}{3,}$/u.test(second) ? first + second : null;
    },
  },
  {
    kind: 'singular for plural',
    type: (name) =>
      ifChanged(name, name.replace(/(\w{3,})(?<!ie|s)s\b/i, '$1').replace(/(\w{3,})ies\b/i, '$1y')),
  },
  {
    kind: 'plural for singular',
    type: (name) =>
      ifChanged(
        name,
        name
          .replace(/\b(technolog|industr|batter|galler)y\b/i, '$1ies')
          .replace(/\b(system|product|network|device|instrument|solution)\b/i, '$1s'),
      ),
  },
  {
    kind: 'one word too many',
    type: (name, random) => `${distinctive(name)} ${random.pick(tooMany)}`,
  },
  {
    kind: 'umlaut for two letters',
    store: (name) => ifChanged(name, withoutUmlauts(name)),
    type: (name) => (/[äöü]/i.test(name) ? name : null),
  },
  { kind: 'two letters for an umlaut', type: (name) => ifChanged(name, withoutUmlauts(name)) },
  {
    kind: 'in Latin letters',
    store: (name) => inCyrillic(name),
    type: (name) => (inCyrillic(name) === null ? null : name),
  },
  {
    kind: 'acronym',
    type(name) {
      const words = wordsOf(name.replace(anyForm, ' '));
      return words.length < 3 ? null : words.map((word) => word[0]).join('');
    },
  },
];
/** Nobody expects these to be found. */
export const unjudged = 'acronym';
export const nonsense = 'nonsense';

/** `names` may be stored otherwise for some queries. A query of some words is taken if at most ten names have all of them. */
export function makeQueries(
  names: string[],
  { perKind, random }: { perKind: number; random: Random },
): { stored: string[]; queries: Query[] } {
  const stored = [...names];
  const queries: Query[] = [];
  const folded = names.map((name) => name.toLowerCase());
  const isKnown = (text: string) => {
    const words = wordsOf(text.toLowerCase());
    return folded.filter((name) => words.every((word) => name.includes(word))).length > 10;
  };
  const used = new Set<number>();
  for (const { kind, type, store } of rules) {
    const fitting = shuffled(names.length, random).values();
    for (const index of fitting) {
      if (queries.filter((query) => query.kind === kind).length === perKind) break;
      const name = names[index] as string;
      if (used.has(index) || wordsOf(name).length === 0) continue;
      const kept = store ? store(name) : name;
      const text = kept === null ? null : type(name, random);
      if (kept === null || text === null || text.trim().length < 3 || isKnown(text)) continue;
      used.add(index);
      stored[index] = kept;
      queries.push({ kind, text: text.slice(0, 100), expected: index });
    }
  }
  for (let at = 0; at < perKind; at += 1)
    queries.push({ kind: nonsense, text: madeUp(random), expected: null });
  return { stored, queries };
}

function wordsOf(name: string): string[] {
  return name.split(/[^\p{L}\p{M}\p{N}&]+/u).filter((word) => word !== '');
}

/** Its first words, without the legal form. */
function distinctive(name: string): string {
  return wordsOf(name.replace(anyForm, ' ')).slice(0, 2).join(' ');
}

function ifChanged(name: string, typed: string): string | null {
  return typed === name ? null : typed;
}

function withoutUmlauts(name: string): string {
  return name.replace(/[äöü]/gi, (letter) => umlauts[letter] ?? letter);
}

function inCyrillic(name: string): string | null {
  const written = name.toLowerCase().replace(inPassport, (letters) => cyrillic[letters] ?? '');
  return /^[а-я ]{6,}$/.test(written) ? written : null;
}

function mistypeWords(name: string, random: Random, count: number): string | null {
  const words = wordsOf(name.replace(anyForm, ' ')).slice(0, 2);
  const long = words.filter((word) => /^[a-z]{5,}$/i.test(word));
  if (long.length < count) return null;
  const mistyped = new Map(long.slice(0, count).map((word) => [word, mistype(word, random)]));
  return words.map((word) => mistyped.get(word) ?? word).join(' ');
}

/** One letter too many, missing, wrong, or two swapped. */
function mistype(word: string, random: Random): string {
  const at = 1 + random.below(word.length - 2);
  const [start, end] = [word.slice(0, at), word.slice(at)];
  const letter = word[at] as string;
  switch (random.below(4)) {
    case 0:
      return start + otherLetter(letter, random) + end;
    case 1:
      return start + end.slice(1);
    case 2:
      return start + otherLetter(letter, random) + end.slice(1);
    default:
      return start + (end[1] ?? '') + letter + end.slice(2);
  }
}

function otherLetter(letter: string, random: Random): string {
  const others = 'abcdefghijklmnopqrstuvwxyz'
    .split('')
    .filter((each) => each !== letter.toLowerCase());
  return random.pick(others);
}

/** Two words of letters that no language puts together so. */
function madeUp(random: Random): string {
  const word = () =>
    Array.from({ length: 7 + random.below(4) }, () =>
      random.pick('bcdfghjklmnpqrstvwxz'.split('')),
    ).join('');
  return random.below(2) === 0 ? word() : `${word()} ${word()}`;
}

function shuffled(length: number, random: Random): number[] {
  const numbers = Array.from({ length }, (_, index) => index);
  for (let at = length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [numbers[at], numbers[other]] = [numbers[other] as number, numbers[at] as number];
  }
  return numbers;
}
