/** `85 ms`, `1.25 s`, with a space at which no line ends. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}\u00a0ms`;
  return `${(ms / 1_000).toLocaleString(undefined, { maximumFractionDigits: 2 })}\u00a0s`;
}
