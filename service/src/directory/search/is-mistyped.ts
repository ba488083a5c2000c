/**
 * Whether `word` becomes `term` with at most `typosMax` insertions, deletions, substitutions and swaps of neighbours, none
 * of which overlap (optimal string alignment).
 */
export function isMistyped(word: string, term: string, typosMax: number): boolean {
  if (Math.abs(word.length - term.length) > typosMax) return false;
  let beforeLast: number[] = [];
  let last = Array.from({ length: term.length + 1 }, (_, index) => index);
  for (let row = 1; row <= word.length; row += 1) {
    const next = nextRow(word, term, row, last, beforeLast);
    if (Math.min(...next) > typosMax) return false;
    [beforeLast, last] = [last, next];
  }
  return (last[term.length] as number) <= typosMax;
}

/** The errors between the first `row` letters of `word` and each start of `term`. */
function nextRow(
  word: string,
  term: string,
  row: number,
  last: number[],
  beforeLast: number[],
): number[] {
  const next = [row];
  const letter = word.charCodeAt(row - 1);
  for (let column = 1; column <= term.length; column += 1) {
    const other = term.charCodeAt(column - 1);
    let errors = Math.min(
      (last[column] as number) + 1,
      (next[column - 1] as number) + 1,
      (last[column - 1] as number) + (letter === other ? 0 : 1),
    );
    const isSwap =
      row > 1 &&
      column > 1 &&
      letter === term.charCodeAt(column - 2) &&
      word.charCodeAt(row - 2) === other;
    if (isSwap) errors = Math.min(errors, (beforeLast[column - 2] as number) + 1);
    next.push(errors);
  }
  return next;
}
