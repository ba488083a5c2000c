/** The first characters of a text, without half of one, such as of an emoji, at their end. */
export function startOf(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replace(/[\uD800-\uDBFF]$/, '');
}
