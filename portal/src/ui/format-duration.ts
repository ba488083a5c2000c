/** `85 ms`, `1.25 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toLocaleString(undefined, { maximumFractionDigits: 2 })} s`;
}

/** `40 ms`, `12 s`, `5 min`, `3 h`, `2 d`. */
export function formatSpan(ms: number): string {
  const unit = units.find(([size]) => ms >= size);
  return unit ? `${Math.round(ms / unit[0]).toLocaleString()} ${unit[1]}` : formatDuration(ms);
}

const units: [number, string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];
