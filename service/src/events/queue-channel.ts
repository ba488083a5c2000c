/** Tells the leading worker of new work in the queue, if it is in another process. It also looks by itself: `webhooks/queue/worker.ts`. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../database/database.ts';

export const queueChannel = 'orgdir_queue';
/** The payload of a notification of nothing but new events. */
export const eventsNotice = 'events';
/** Tells all processes that deliver that one has joined or left. */
export const workersChannel = 'orgdir_workers';
/** The payload on it of a process in which somebody follows events. */
const followingNotice = 'following';
/** Tells processes in which somebody follows events that some were distributed. */
export const distributedChannel = 'orgdir_distributed';
/** How often a process says that somebody follows events. */
export const sayFollowsMs = 5_000;
/** For how long workers believe it. */
const believedMs = 3 * sayFollowsMs;
/** The advisory lock of a fan-out. */
export const fanOutLock = 70420006;

/** Notifications of one process come at most this often: the first at once, and one for all that came meanwhile. */
const pauseMs = 4;
/** The same for those of distributed events, of which there may be many more. */
const distributedPauseMs = 10;

/** Returns a function that may be called for every event that was published and committed. */
export function createQueueNotifier(database: Database): () => void {
  let wanted = false;
  let notifying = false;

  async function notifyAll(): Promise<void> {
    while (wanted) {
      wanted = false;
      await notify(database, queueChannel, eventsNotice);
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
async function notify(database: Database, channel: string, payload: string): Promise<void> {
  await sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${payload})`
    .execute(database)
    .catch(() => {});
}

export function saySomebodyFollows(database: Database): Promise<void> {
  return notify(database, workersChannel, followingNotice);
}

/** Of a worker: tells those who follow events, if there are any, that some were distributed. */
export class FollowersNotifier {
  readonly #database: Database;
  #until = -Infinity;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns whether the notification on `workersChannel` was about followers. */
  heard(payload: string): boolean {
    const isIt = payload === followingNotice;
    if (isIt) this.#until = performance.now() + believedMs;
    return isIt;
  }

  anybody(): boolean {
    return performance.now() < this.#until;
  }

  /** Not in the transaction that distributes events: notifications are committed one by one. */
  async tell(): Promise<void> {
    await notify(this.#database, distributedChannel, '');
    await wait(distributedPauseMs, undefined, { ref: false });
  }
}
