/** Milliseconds since 1970 in fractions: what one process wrote down another can subtract, on one machine. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
