/** Fractional milliseconds since 1970, comparable between processes on one machine. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
