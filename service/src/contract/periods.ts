/**
 * How long something stays valid, or how far back it reaches. Mails, API descriptions and the portal take these numbers from here, and a
 * test compares the documents with them.
 */
import { inWords } from './texts.ts';

/** How long an invitation can be accepted. */
export const invitationDays = 7;
export const invitationDaysInWords = inWords(invitationDays);

/** How long a session lasts after its last use. */
export const sessionDays = 7;
export const sessionDaysInWords = inWords(sessionDays);

/** How long a proof of who somebody is lets a session make sensitive changes. */
export const proofMinutes = 30;

/** How long the old key or secret stays valid after a rotation: by default, and at most. */
export const overlapSecondsDefault = 86_400;
export const overlapSecondsMax = 7 * 86_400;

/** How long a creation can be repeated with its idempotency key: for retries after a lost response. */
export const repeatableMinutes = 10;

/** How long a key lasts that the documentation makes for its samples: long enough for a few requests. */
export const temporaryKeyMinutes = 15;

/** How long before its end a key is said to expire soon. */
export const expiresSoonDays = 14;

/** How long before its end operators see that a previous secret of a webhook expires: well after a usual rotation began. */
export const secretExpiresSoonHours = 6;

/** How far back recoveries and replays reach. */
export const recoverDaysMax = 14;

/** How long the old slug of a renamed entry stays reserved. */
export const slugReservedDays = 30;

/** How long a cursor of `changedSince` works, at least. */
export const changesKeptDays = 30;

/** How far back usage is counted, and how often a process writes its counts. */
export const usageDays = 90;
export const usageWrittenSeconds = 10;

/** How far back `/status` shows deliveries and maintenance. */
export const statusDays = 30;

/** How long the link in a mail works, and the link that makes the first account. */
export const linkHours = 1;
export const linkPeriod = linkHours === 1 ? 'an hour' : `${inWords(linkHours)} hours`;
export const firstAccountLinkHours = 24;

/** How far lists of events and deliveries of all webhooks look back, in hours, if nothing else is asked. */
export const listedHours = 24;

export function hoursAgo(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000);
}
