/** `85 ms`, `1.25 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toLocaleString(undefined, { maximumFractionDigits: 2 })} s`;
}
