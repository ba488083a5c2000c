/**
 * Performs one run of either sync: one at a time over all processes, recorded from start to end. `sync-blueprints.ts`
 * and `sync-chat.ts` do the work. Each run has its own session, so that killing the process also ends the lock.
 */
import type { SyncRun } from '../contract/sync-run.ts';
import {
  directConnection,
  isConnectionFault,
  openDatabase,
  type ConnectionSettings,
  type Database,
  type Transaction,
} from '../database/database.ts';
import { noticeDeadClients } from '../database/session.ts';
import { recordEvent } from '../events/record-event.ts';
import {
  beginRun,
  completeRun,
  failRun,
  releaseRunLock,
  runningRun,
  tryRunLock,
  type Completion,
  type StartedBy,
} from './runs.ts';
import { SyncFailure } from './sync-failure.ts';

export type RunRequest = Pick<SyncRun, 'kind' | 'source' | 'trigger'> &
  StartedBy & {
    /** The source as everyone sees it. */
    publicSource: string;
    /** Aborts the run because its process stops. */
    signal: AbortSignal;
    /** Called when the run is recorded as running. */
    onStart?: ((run: SyncRun) => void) | undefined;
    /** Set only for scheduled runs. */
    due?: DueTime | undefined;
  };

/** The due time that a run is for. Both functions are called under the run's lock. */
export type DueTime = {
  /** Whether the run is still due. */
  take(session: Database): Promise<boolean>;
  /** Called in the transaction that ends the run. */
  resolve(tx: Transaction, run: SyncRun): Promise<void>;
};

export type RunOutcome =
  | { kind: 'succeeded'; run: SyncRun }
  | { kind: 'failed'; run: SyncRun }
  /** Another run holds the lock; null if it ended just now. */
  | { kind: 'conflict'; run: SyncRun | null }
  | { kind: 'not_due' };

/** Ends the run as successful and records its event, in the transaction of its changes. */
export type CompleteRun = (tx: Transaction, completion: Completion) => Promise<SyncRun>;
/** Returns the run that `complete` ended. */
export type RunWork = (session: Database, complete: CompleteRun) => Promise<SyncRun>;

/** A frozen process must not keep its locks for as long as it is frozen. */
const idleInTransactionMs = 60_000;

export async function performRun(
  connection: ConnectionSettings,
  request: RunRequest,
  work: RunWork,
): Promise<RunOutcome> {
  const database = openDatabase(directConnection(connection), {
    applicationName: `orgdir sync ${request.kind}, pid ${process.pid}`,
    poolSize: 1,
    // A statement over a hundred thousand rows may take long; everything outside the database has its own limits.
    statementTimeoutMs: 0,
    idleInTransactionMs,
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
    // The lock would end with the session, but only after a process that waits for this run has started the next one.
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
  try {
    request.signal.throwIfAborted();
    const ended = await work(session, (tx, completion) => complete(tx, run, completion, request));
    return { kind: 'succeeded', run: ended };
  } catch (error) {
    return { kind: 'failed', run: await recordFailure(session, run, error, request) };
  }
}

async function complete(
  tx: Transaction,
  run: SyncRun,
  completion: Completion,
  { due, publicSource }: RunRequest,
): Promise<SyncRun> {
  const ended = await completeRun(tx, run, completion);
  await due?.resolve(tx, ended);
  await recordEvent(tx, {
    name: run.kind === 'blueprints' ? 'blueprint.sync.completed' : 'chat.sync.completed',
    data: {
      runId: run.id,
      source: publicSource,
      startedAt: ended.startedAt,
      finishedAt: ended.finishedAt ?? ended.startedAt,
      durationMs: ended.durationMs ?? 0,
      counts: completion.counts,
      version: completion.version,
    },
  });
  return ended;
}

/** Records errors that are not the source's fault too, and throws them again. */
async function recordFailure(
  session: Database,
  run: SyncRun,
  error: unknown,
  { signal, due }: RunRequest,
): Promise<SyncRun> {
  const failure = failureOf(error, signal);
  try {
    const failed = await session.transaction().execute(async (tx) => {
      const ended = await failRun(tx, run, failure);
      await due?.resolve(tx, ended);
      return ended;
    });
    if (failure.reason !== 'internal') return failed;
  } catch (recording) {
    // A lost session records nothing; the next run marks this one as interrupted.
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
