import { type Database, sql } from './database.ts';

/**
 * The database's time in a process, whose own clock may be wrong: the last look at the database's clock (`queue_now()`),
 * continued by the monotonic clock of the process. Until the first look it is the process's own clock.
 */
export type DatabaseClock = {
  now(): Date;
  /** In [0, 1). */
  random(): number;
  /** Call with what the database's clock showed in a statement that was sent at `sentAt` (`performance.now()`). */
  see(atMs: number, sentAt: number): void;
  /** Called when the database's clock was put back, with the time that it would show otherwise. */
  onPutBack: (would: Date) => void;
};

/** A clock that is put right slowly may lose half a millisecond per second, and statements wait for their connection. */
const toleranceMs = 100;

export function createDatabaseClock(): DatabaseClock {
  // `Date` may be replaced by one that asks this clock (below).
  const TimeOfDay = Date;
  let last = { atMs: Date.now(), on: performance.now(), isSeen: false };
  // Never too late: the look was before its response.
  const timeAt = (on: number) => last.atMs + on - last.on;
  const clock: DatabaseClock = {
    now: () => new TimeOfDay(timeAt(performance.now())),
    random: () => Math.random(),
    see(atMs, sentAt) {
      const on = performance.now();
      // Looks at the same time may end in another order.
      if (last.isSeen && sentAt < last.on) return;
      const isPutBack = last.isSeen && atMs < timeAt(sentAt) - toleranceMs;
      const would = new TimeOfDay(timeAt(on));
      last = { atMs, on, isSeen: true };
      if (isPutBack) clock.onPutBack(would);
    },
    onPutBack() {},
  };
  return clock;
}

/** From here on, `orgdir doctor` warns too. Below it, nothing is replaced. */
const wrongMs = 5_000;

export type FollowedTime = {
  clock: DatabaseClock;
  /** By how much the machine's clock is ahead; 0 if it is not wrong. */
  wrongByMs: number;
};

export async function followTime(database: Database): Promise<FollowedTime> {
  const clock = createDatabaseClock();
  // The time to connect must not count.
  await sql`select`.execute(database);
  const sentAt = performance.now();
  const { rows } = await sql<{ atMs: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as "atMs"
  `.execute(database);
  const aheadMs = Date.now() - (rows[0]?.atMs ?? Date.now());
  clock.see(Date.now() - aheadMs, sentAt);
  if (Math.abs(aheadMs) <= wrongMs) return { clock, wrongByMs: 0 };
  replaceDate(() => clock.now().getTime());
  return { clock, wrongByMs: Math.round(aheadMs) };
}

function replaceDate(now: () => number): void {
  globalThis.Date = new Proxy(Date, {
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
    apply: (target) => new target(now()).toString(),
    get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
  });
}
