/**
 * An array parameter as PostgreSQL writes it, for values that need no quotes: ids, numbers, times, words of ours.
 * `pg` quotes every element and looks into it first; for the arrays of a batch that was a tenth of all memory used.
 */
export function arrayLiteral(values: readonly (string | number | boolean | null)[]): string {
  let text = '{';
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) text += ',';
    text += values[index] ?? 'NULL';
  }
  return `${text}}`;
}
