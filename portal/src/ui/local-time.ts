/** Converts times for `datetime-local` inputs, which use local time to the minute. */

/** `2026-11-20T13:00` for an RFC 3339 time; empty for null. */
export function toLocalInput(at: string | null): string {
  if (at === null) return '';
  const time = new Date(at);
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

export function fromLocalInput(text: string): string | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
