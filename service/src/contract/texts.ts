/** Texts for people, in the service and in the portal: their start, quoted names, and counts as words. */

/** The first characters of a text, without half of one, such as of an emoji, at their end. */
export function startOf(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * A name in the text of a mail. It may be one from before names were plain (`shapes.ts`), and mail programs make links of
 * whatever looks like an address: a space after each character that could be part of one prevents that.
 */
export function quoteName(name: string): string {
  const line = name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ');
  return JSON.stringify(line.replaceAll(/[.:@/\\\u3002\uff0e\uff61](?=\S)/gu, '$& '));
}

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
