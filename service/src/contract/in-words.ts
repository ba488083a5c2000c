const numerals = [
  'no',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
];

/** A count as texts write it: a word up to ten. */
export const inWords = (count: number) => numerals[count] ?? String(count);
