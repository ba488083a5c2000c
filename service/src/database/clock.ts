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
  // `Date` may be replaced by one that asks this clock (`follow-time.ts`).
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
