/** The expiry of a new key: never, after some days, or at the end of a chosen day. */

export const expiryChoices = [
  { value: 'never', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'day', label: 'On a day you choose' },
];

const dayMs = 86_400_000;

/** Null: never. Undefined: the day is invalid or over. `day` is in the user's time zone; the key expires at its end. */
export function expiresAt(choice: string, day: string, nowMs: number): string | null | undefined {
  if (choice === 'never') return null;
  const at = choice === 'day' ? Date.parse(`${day}T23:59:59.999`) : nowMs + Number(choice) * dayMs;
  return at > nowMs && at <= latestMs ? new Date(at).toISOString() : undefined;
}

/** RFC 3339 ends with the year 9999. */
const latestMs = Date.parse('9999-12-30T00:00:00Z');

/** `2026-11-22`, in the user's time zone. */
export function today(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(nowMs - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
