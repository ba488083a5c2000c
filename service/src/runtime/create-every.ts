/** Returns a function that is true at its first call, and then once in each `ms`. */
export function createEvery(ms: number): () => boolean {
  let last = -Infinity;
  return () => {
    const now = performance.now();
    if (now - last < ms) return false;
    last = now;
    return true;
  };
}
