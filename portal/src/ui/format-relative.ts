/** Numeric, because “yesterday” would be wrong for some times that are 24 hours ago. */
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always' });
const seconds = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const minuteMs = 60_000;
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', minuteMs],
];

/**
 * `2 hours ago`, `in 7 days`. Past times count whole units. Future times are rounded, so that seven days are still
 * “in 7 days” when they reach the screen.
 */
export function formatRelative(ms: number): string {
  const rounded = ms > minuteMs / 2 ? Math.round(ms / minuteMs) * minuteMs : ms;
  const unit = units.find(([, size]) => Math.abs(rounded) >= size);
  if (!unit) return seconds.format(Math.trunc(ms / 1_000), 'second');
  const [name, size] = unit;
  return relative.format(ms > 0 ? Math.round(rounded / size) : Math.trunc(ms / size), name);
}
