/** Tells the leading worker of new work in the queue, if it is in another process. It also looks by itself: `webhooks/queue/worker.ts`. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../database/database.ts';

export const queueChannel = 'orgdir_queue';
/** The payload of a notification of nothing but new events. */
export const eventsNotice = 'events';
/** Tells all processes that deliver that one has joined or left. */
export const workersChannel = 'orgdir_workers';
/** The advisory lock of a fan-out. */
export const fanOutLock = 70420006;

/** Notifications of one process come at most this often: the first at once, and one for all that came meanwhile. */
const pauseMs = 4;

/** Returns a function that may be called for every event that was published and committed. */
export function createQueueNotifier(database: Database): () => void {
  let wanted = false;
  let notifying = false;

  async function notifyAll(): Promise<void> {
    while (wanted) {
      wanted = false;
      await notify(database);
      await wait(pauseMs, undefined, { ref: false });
    }
    notifying = false;
  }

  return () => {
    wanted = true;
    if (notifying) return;
    notifying = true;
    void notifyAll();
  };
}

/** Does not wait for the disk: a notification that is lost costs a moment. Ignores errors for the same reason. */
async function notify(database: Database): Promise<void> {
  await sql`select set_config('synchronous_commit', 'off', true), pg_notify(${queueChannel}, ${eventsNotice})`
    .execute(database)
    .catch(() => {});
}
