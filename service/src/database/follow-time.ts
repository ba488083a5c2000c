/**
 * Puts the time of day of this process right if the clock of its machine is wrong. Sessions, ID tokens, mails and logs are
 * dated by libraries, which ask `Date` and take no clock. Next: `clock.ts`.
 */
import { createDatabaseClock, type DatabaseClock } from './clock.ts';
import { sql, type Database } from './database.ts';

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
