/** Tells the leading worker of new work in the queue, if it is in another process. It also looks by itself: `worker.ts`. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../../database/database.ts';

export const queueChannel = 'orgdir_queue';

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
  await sql`select set_config('synchronous_commit', 'off', true), pg_notify(${queueChannel}, '')`
    .execute(database)
    .catch(() => {});
}
