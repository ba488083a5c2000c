/** Finds the words that may contain a term by three letters in a row, without reading all words. */

type Trigrams = {
  /** Words that have the rarest three letters of the term, or the same hash. The term has three letters or more. */
  candidates(term: string): Uint32Array;
};

export function createTrigrams(words: string[]): Trigrams {
  const mask = 2 ** Math.ceil(Math.log2(words.length * 4 + 16)) - 1;
  const offsets = new Uint32Array(mask + 2);
  for (const word of words)
    for (const hash of hashesOf(word, mask)) offsets[hash + 1] = (offsets[hash + 1] as number) + 1;
  for (let hash = 0; hash <= mask; hash += 1)
    offsets[hash + 1] = (offsets[hash + 1] as number) + (offsets[hash] as number);
  const next = offsets.slice();
  const lists = new Uint32Array(offsets[mask + 1] as number);
  for (const [index, word] of words.entries())
    for (const hash of hashesOf(word, mask)) {
      lists[next[hash] as number] = index;
      next[hash] = (next[hash] as number) + 1;
    }
  const listOf = (hash: number) => lists.subarray(offsets[hash], offsets[hash + 1]);

  return {
    candidates(term) {
      let shortest: Uint32Array | null = null;
      for (const hash of hashesOf(term, mask)) {
        const list = listOf(hash);
        if (shortest === null || list.length < shortest.length) shortest = list;
      }
      return shortest ?? lists.subarray(0, 0);
    },
  };
}

/** The hashes of all three letters in a row, each once. */
function hashesOf(word: string, mask: number): Set<number> {
  const hashes = new Set<number>();
  for (let at = 0; at + 2 < word.length; at += 1) {
    const letters =
      (Math.imul(word.charCodeAt(at), 961) +
        Math.imul(word.charCodeAt(at + 1), 31) +
        word.charCodeAt(at + 2)) |
      0;
    hashes.add((Math.imul(letters, 0x9e3779b1) >>> 7) & mask);
  }
  return hashes;
}
