/** How many mails are sent at once, and when a queued one is tried again. Apart from `mail.ts`, which loads a library. */

/** Of each kind, each on a separate connection. */
export const mailsAtOnce = 3;
export const mailAttemptsMax = 8;
/** The maximum delay of a mail: a new SMTP_URL must not release a flood of old mail. */
export const mailWithinHours = 24;
/** Longer than a mail may take, so that no other process sends it meanwhile. */
export const mailLeaseSeconds = 60;
const baseMs = 60_000;
const factor = 4;
const waitMaxMs = 6 * 3_600_000;

/** How long after this attempt, from 1, the next one is made. */
export function mailWaitMs(attempt: number): number {
  return Math.min(baseMs * factor ** (attempt - 1), waitMaxMs);
}
