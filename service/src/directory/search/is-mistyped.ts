/**
 * Whether `word` becomes `term` with at most `typosMax` insertions, deletions, substitutions and swaps of neighbours, none
 * of which overlap (optimal string alignment). It tries each of these at the first difference, up to 16 ways for two.
 */
export function isMistyped(word: string, term: string, typosMax: number, at = 0, to = 0): boolean {
  let [left, right] = [at, to];
  while (left < word.length && word.charCodeAt(left) === term.charCodeAt(right)) {
    left += 1;
    right += 1;
  }
  const [wordRest, termRest] = [word.length - left, term.length - right];
  if (Math.abs(wordRest - termRest) > typosMax) return false;
  if (wordRest === 0 || termRest === 0) return true;
  if (typosMax === 0) return false;
  const continues = (letters: number, others: number) =>
    isMistyped(word, term, typosMax - 1, left + letters, right + others);
  const isSwap = word[left] === term[right + 1] && word[left + 1] === term[right];
  return continues(1, 1) || continues(1, 0) || continues(0, 1) || (isSwap && continues(2, 2));
}
