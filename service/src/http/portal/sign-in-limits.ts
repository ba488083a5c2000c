/**
 * Bounds on guesses at passwords and on mails. An address that goes over its own limit is refused before anything is
 * counted for an account, and guesses at an account lock out nobody: they slow down sign-ins to it from devices that it
 * does not know. Under a flood of many addresses, only known devices are sure of a place. Counted in the memory of each process.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import {
  addressBucket,
  createRequestCounter,
  minuteMs,
  secondsUntil,
} from '../admission/rate-limit.ts';

type Attempt = {
  ip: string;
  email: string;
  /** The id of a browser that has signed in to the account before. */
  device: string | null;
};
export type SignInLimits = ReturnType<typeof createSignInLimits>;

/** A person mistypes a few times. OWASP recommends slowing down guesses over locking accounts. */
export const attemptsPerMinute = { address: 60, accountAndAddress: 20, accountOrDevice: 10 };
const passwordChangesPerMinute = 10;
/** Short enough to sign in while somebody else guesses. */
export const slowDownMs = 1_000;
/** Passwords being checked at once for one address; each takes some 60 ms. */
const concurrentPerAddress = 10;
/** The same for all addresses together; more would wait for seconds. Known devices do not count. */
const concurrentMax = 100;
/**
 * Somebody who waits for a mail asks twice, and a user can own ten apps. Repeats to one mailbox end at half of what it
 * gets, so a few senders cannot keep known devices and new senders from it.
 */
export const mailsPerHour = {
  address: 30,
  account: 5,
  inviter: 40,
  senderAndMailbox: 5,
  repeatsToMailbox: 10,
  mailbox: 20,
};
const hourMs = 3_600_000;
/** Mailboxes, and their senders, counted one by one, some 25 MB each; to exceed it takes 6,700 addresses that all request mails. */
const mailAccountsMax = 200_000;

/** `slowDown`: resolves when a slowed-down sign-in may go on. */
export function createSignInLimits({
  slowDown = () => wait(slowDownMs),
}: { slowDown?: () => Promise<void> } = {}) {
  const byAddress = createRequestCounter(attemptsPerMinute.address);
  const byAccountAndAddress = createRequestCounter(attemptsPerMinute.accountAndAddress);
  const byAccountOrDevice = createRequestCounter(attemptsPerMinute.accountOrDevice);
  const mailsByAddress = createRequestCounter(mailsPerHour.address, hourMs);
  const mailsByAccount = createRequestCounter(mailsPerHour.account, hourMs, {
    bucketsMax: Infinity,
  });
  const invitationsByUser = createRequestCounter(mailsPerHour.inviter, hourMs, {
    bucketsMax: Infinity,
  });
  const passwordChanges = createRequestCounter(passwordChangesPerMinute, minuteMs, {
    bucketsMax: Infinity,
  });
  const countTo = createMailboxLimit();
  const inPlace = createPlaces();

  return {
    /** Runs `verify` within the limits, or throws `rate_limited`. */
    async attempt<T>({ ip, email, device }: Attempt, verify: () => Promise<T>): Promise<T> {
      const address = addressBucket(ip);
      refuse(byAddress(address));
      refuse(byAccountAndAddress(`${address} ${email}`));
      // Before it takes a place, or slowed-down guesses would take all of them.
      if (byAccountOrDevice(device ?? email).exceeded) await slowDown();
      return inPlace(ip, device !== null, verify);
    },
    /** Runs `work`, which hashes a password, unless too many are being hashed; then it throws `rate_limited`. */
    hash: <T>(ip: string, work: () => Promise<T>): Promise<T> => inPlace(ip, false, work),
    /** Bounds guesses at the current password by somebody who is signed in. Throws `rate_limited`. */
    changePassword: (userId: string) => refuse(passwordChanges(userId)),
    /** Counts a mail that somebody asks for who need not be signed in. Throws `rate_limited`. */
    mail({ ip, email, device }: Attempt): void {
      // Others behind the same IP address do not use up a known device's mails.
      if (device !== null) return countTo(email, null);
      const address = addressBucket(ip);
      refuse(mailsByAddress(address));
      countTo(email, address);
    },
    /** Counts a mail that a signed-in account asks for. `email`: null for its own mailbox. Throws `rate_limited`. */
    mailForAccount(ip: string, userId: string, email: string | null): void {
      refuse(mailsByAddress(addressBucket(ip)));
      refuse(mailsByAccount(userId));
      if (email !== null) countTo(email, userId);
    },
    /** Counts an invitation of this user to this address. Throws `rate_limited`. */
    invite(userId: string, email: string): void {
      refuse(invitationsByUser(userId));
      countTo(email, userId);
    },
  };
}

/** Nobody waits for a place; a known device needs only one of its address. */
function createPlaces() {
  const running = new Map<string, number>();
  let runningCount = 0;

  return async <T>(ip: string, isKnown: boolean, work: () => Promise<T>): Promise<T> => {
    const address = addressBucket(ip);
    const here = running.get(address) ?? 0;
    if (here >= concurrentPerAddress || (!isKnown && runningCount >= concurrentMax))
      throw tooMany(1);
    running.set(address, here + 1);
    runningCount += 1;
    try {
      return await work();
    } finally {
      runningCount -= 1;
      const left = (running.get(address) ?? 1) - 1;
      if (left > 0) running.set(address, left);
      else running.delete(address);
    }
  };
}

/**
 * Bounds the mails to one mailbox. What is refused for its sender does not count for the mailbox. `sender`: an account or
 * an IP address; null for a device that the mailbox's account knows.
 */
function createMailboxLimit(): (email: string, sender: string | null) => void {
  const counter = (limit: number) =>
    createRequestCounter(limit, hourMs, { bucketsMax: mailAccountsMax });
  const bySender = counter(mailsPerHour.senderAndMailbox);
  const repeats = counter(mailsPerHour.repeatsToMailbox);
  const byMailbox = counter(mailsPerHour.mailbox);
  return (email, sender) => {
    const mailbox = mailboxOf(email);
    if (sender !== null) {
      const usage = bySender(`${sender} ${mailbox}`);
      refuse(usage);
      const isFirst = usage.remaining === mailsPerHour.senderAndMailbox - 1;
      if (!isFirst) refuse(repeats(mailbox));
    }
    refuse(byMailbox(mailbox));
  };
}

/** Without the tag in `ada+tag@example.org`, which most mail servers deliver to `ada@example.org`. */
function mailboxOf(email: string): string {
  return email.replace(/^([^+]+)\+[^@]*@/, '$1@');
}

function refuse({ exceeded, resetAt }: { exceeded: boolean; resetAt: number }): void {
  if (exceeded) throw tooMany(secondsUntil(resetAt));
}

function tooMany(retryAfterSeconds: number): ServiceError {
  return new ServiceError('rate_limited', 'Too many attempts.', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}
