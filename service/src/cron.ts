/** Times that come again, as five fields of cron in UTC. The only file that knows the library. */
import { Cron } from 'croner';

export type Schedule = {
  /** As it was written. */
  text: string;
  /** The first time after this one. */
  next(after: Date): Date;
};

/** Reads `0 4 * * *` or a name such as `@daily`. Null for what is no schedule, and for one that never comes. */
export function parseSchedule(text: string): Schedule | null {
  // The library takes a date too, which would come once and never again.
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
