/**
 * A name in the text of a mail. It may be one from before names were plain (`shapes.ts`), and mail programs make links of
 * whatever looks like an address: a space after each character that could be part of one prevents that.
 */
export function quoteName(name: string): string {
  const line = name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ');
  return JSON.stringify(line.replaceAll(/[.:@/\\\u3002\uff0e\uff61](?=\S)/gu, '$& '));
}
