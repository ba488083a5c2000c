/**
 * One run of a sync, whichever: one at a time over all processes, recorded from its beginning to its end. What it does
 * is `sync-blueprints.ts` or `sync-chat.ts`. The session is its own, so that whatever kills the process ends the lock.
 */
import type { SyncRun } from '../contract/sync-run.ts';
import {
  isConnectionFault,
  openDatabase,
  sql,
  type ConnectionSettings,
  type Database,
  type Transaction,
} from '../database/database.ts';
import { beginRun, failRun, releaseRunLock, runningRun, tryRunLock } from './runs.ts';
import { SyncFailure } from './sync-failure.ts';

export type RunRequest = Pick<SyncRun, 'kind' | 'source' | 'trigger'> & {
  /** Ends the run: its process stops. */
  signal: AbortSignal;
  /** Called once it is recorded as running. */
  onStart?: ((run: SyncRun) => void) | undefined;
  /** Of the schedule alone. */
  due?: DueTime | undefined;
};

/** A due time that a run is for. Both are asked under the run's lock. */
export type DueTime = {
  /** Whether it is still to be run. */
  take(session: Database): Promise<boolean>;
  /** In the transaction that ends the run. */
  resolve(tx: Transaction, run: SyncRun): Promise<void>;
};

export type RunOutcome =
  | { kind: 'succeeded'; run: SyncRun }
  | { kind: 'failed'; run: SyncRun }
  /** Another one is under way; null where it ended this very moment. */
  | { kind: 'conflict'; run: SyncRun | null }
  | { kind: 'not_due' };

/** Must end the run with `completeRun` in the transaction of what it did, and return what that gave. */
export type RunWork = (
  session: Database,
  run: SyncRun,
  resolveDueTime: (tx: Transaction, run: SyncRun) => Promise<void>,
) => Promise<SyncRun>;

/** Of this session alone: a process that froze must not keep its locks for as long as it is frozen. */
const settings = { idle_in_transaction_session_timeout: '60000' };

export async function performRun(
  connection: ConnectionSettings,
  request: RunRequest,
  work: RunWork,
): Promise<RunOutcome> {
  const database = openDatabase(connection, {
    applicationName: `orgdir sync ${request.kind}, pid ${process.pid}`,
    poolSize: 1,
    // A statement over a hundred thousand rows takes as long as it takes; what is outside the database has its bounds.
    statementTimeoutMs: 0,
    settings,
  });
  try {
    return await database.connection().execute((session) => performOn(session, request, work));
  } finally {
    await database.destroy();
  }
}

async function performOn(
  session: Database,
  request: RunRequest,
  work: RunWork,
): Promise<RunOutcome> {
  if (!(await tryRunLock(session, request.kind)))
    return { kind: 'conflict', run: await runningRun(session, request.kind) };
  try {
    return await performLocked(session, request, work);
  } finally {
    // It would end with the session, but a moment after whoever waits for this run has begun the next.
    await releaseRunLock(session, request.kind).catch(() => {});
  }
}

async function performLocked(
  session: Database,
  request: RunRequest,
  work: RunWork,
): Promise<RunOutcome> {
  await noticeDeadClients(session);
  if (request.due && !(await request.due.take(session))) return { kind: 'not_due' };
  const run = await beginRun(session, request);
  request.onStart?.(run);
  const resolveDueTime = async (tx: Transaction, ended: SyncRun) => request.due?.resolve(tx, ended);
  try {
    request.signal.throwIfAborted();
    return { kind: 'succeeded', run: await work(session, run, resolveDueTime) };
  } catch (error) {
    return {
      kind: 'failed',
      run: await recordFailure(session, run, error, request, resolveDueTime),
    };
  }
}

/** A statement whose client was killed ends within seconds, and the lock with it. Not every server's system can. */
async function noticeDeadClients(session: Database): Promise<void> {
  await sql`set client_connection_check_interval = '2s'`.execute(session).catch(() => {});
}

/** What is no failure of the source is recorded too, and thrown on. */
async function recordFailure(
  session: Database,
  run: SyncRun,
  error: unknown,
  { signal }: RunRequest,
  resolveDueTime: (tx: Transaction, ended: SyncRun) => Promise<void>,
): Promise<SyncRun> {
  const failure = failureOf(error, signal);
  try {
    const failed = await session.transaction().execute(async (tx) => {
      const ended = await failRun(tx, run, failure);
      await resolveDueTime(tx, ended);
      return ended;
    });
    if (failure.reason !== 'internal') return failed;
  } catch (recording) {
    // A session that is gone records nothing; the next run finds this one interrupted.
    if (!isConnectionFault(recording)) throw recording;
  }
  throw error;
}

function failureOf(error: unknown, signal: AbortSignal): SyncFailure {
  if (signal.aborted) return new SyncFailure('stopped', 'the process that ran it was stopped');
  if (error instanceof SyncFailure) return error;
  return new SyncFailure(
    'internal',
    'something went wrong on our side; the log of the process has more',
  );
}
