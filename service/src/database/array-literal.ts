/**
 * Writes an array parameter for values that need no quotes: ids, numbers, times, fixed words. `pg` inspects and quotes
 * every element; for the arrays of a batch that was a tenth of all memory used.
 */
export function arrayLiteral(values: readonly (string | number | boolean | null)[]): string {
  let text = '{';
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) text += ',';
    text += values[index] ?? 'NULL';
  }
  return `${text}}`;
}
