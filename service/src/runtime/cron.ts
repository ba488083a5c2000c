/** Parses cron schedules with five fields, in UTC. No other file uses the library. */
import { Cron } from 'croner';

export type Schedule = {
  /** The schedule as it was written. */
  text: string;
  /** The first time after this one. */
  next(after: Date): Date;
};

/** Parses `0 4 * * *` or a name such as `@daily`. Returns null if it is invalid or never due. */
export function parseSchedule(text: string): Schedule | null {
  // The library also accepts a date, which would be due only once.
  if (!/^(@[a-z]+|\S+( +\S+){4})$/i.test(text)) return null;
  try {
    const cron = new Cron(text, { timezone: 'UTC', mode: '5-part', paused: true });
    if (!cron.nextRun()) return null;
    return {
      text,
      next: (after) => {
        const time = cron.nextRun(after);
        if (!time) throw new Error(`the schedule ${text} has no time after ${after.toISOString()}`);
        return time;
      },
    };
  } catch {
    return null;
  }
}
