/** The expiry of a new key: never, after some days, or at the end of a chosen day. */
import type { Times } from '../ui/times.tsx';

export const expiryChoices = [
  { value: 'never', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'day', label: 'On a day you choose' },
];

const dayMs = 86_400_000;
/** RFC 3339 ends with the year 9999. */
const latestMs = Date.parse('9999-12-30T00:00:00Z');

/** Null: never. Undefined: the day is invalid or over. The key expires at the end of `day`. */
export function readExpiry(
  choice: string,
  day: string,
  { fromInput }: Times,
): string | null | undefined {
  if (choice === 'never') return null;
  const nowMs = Date.now();
  const at =
    choice === 'day'
      ? Date.parse(fromInput(`${day}T23:59:59.999`) ?? '')
      : nowMs + Number(choice) * dayMs;
  return at > nowMs && at <= latestMs ? new Date(at).toISOString() : undefined;
}

/** `2026-11-22`. */
export function today({ toInput }: Times): string {
  return toInput(new Date().toISOString()).slice(0, 10);
}
