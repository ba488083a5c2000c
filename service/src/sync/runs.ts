/** Records the runs of both syncs and reads them for operators. */
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../access/actor.ts';
import { recordAudit } from '../access/audit-log.ts';
import { cutText } from '../contract/cut-text.ts';
import type { SyncKind, SyncProblem, SyncRun } from '../contract/sync-run.ts';
import { withTextTimes, type Dated } from '../contract/parse-time.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import type { SyncFailure } from './sync-failure.ts';

/** The state of an HTTP source, and the revision of the blueprints that resulted. */
export type Validators = {
  etag: string | null;
  lastModified: string | null;
  /** A hash of the whole URL, which may contain secrets that must not be stored. */
  fingerprint: string;
  revision: number;
};

/** The first number of PostgreSQL's advisory lock; the second is the sync's kind. The holder runs the sync. */
const runLock = 70420011;
const lockOf: Record<SyncKind, number> = { blueprints: 1, chat: 2 };
const problemsMax = 100;
/** Room for twenty errors of a row, with the names of their fields. */
const reasonLengthMax = 4_000;
/** More than a year of daily runs, and three weeks of hourly ones. */
const runsKeptMax = 500;

/** Whether this session may run the sync now. The lock ends with the session, however the process ends. */
export async function tryRunLock(session: Database, kind: SyncKind): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select pg_try_advisory_lock(${runLock}, ${lockOf[kind]}) as held
  `.execute(session);
  return rows[0]?.held === true;
}

export async function releaseRunLock(session: Database, kind: SyncKind): Promise<void> {
  await sql`select pg_advisory_unlock(${runLock}, ${lockOf[kind]})`.execute(session);
}

/** Whoever asked for a run; nobody did for a scheduled one. */
export type StartedBy = { actor?: Actor | undefined };

type Row = Dated<Omit<SyncRun, 'durationMs'>>;

const columns = sql`
  id, kind, source, trigger, status, started_at as "startedAt", finished_at as "finishedAt", counts, version, reason, message, problems
`;
const interruptedMessage = 'the process that ran it ended without a word';

/** Starts a run. The caller holds the lock, so any other run that is recorded as running was interrupted. */
export async function beginRun(
  session: Database,
  { kind, source, trigger, actor }: Pick<SyncRun, 'kind' | 'source' | 'trigger'> & StartedBy,
): Promise<SyncRun> {
  return session.transaction().execute(async (tx) => {
    await sql`
      update sync_runs
      set status = 'failed', reason = 'interrupted', message = ${interruptedMessage}, finished_at = clock_timestamp()
      where kind = ${kind} and status = 'running'
    `.execute(tx);
    await dropOldRuns(tx, kind);
    const { rows } = await sql<Row>`
      insert into sync_runs (id, kind, source, trigger, status, started_at)
      values (${uuidv7()}, ${kind}, ${source}, ${trigger}, 'running', clock_timestamp())
      returning ${columns}
    `.execute(tx);
    const run = toRun(rows[0] as Row);
    if (actor)
      await recordAudit(tx, actor, {
        action: 'sync.started',
        subject: { kind: 'sync', id: run.id },
        appId: null,
        details: { kind },
      });
    return run;
  });
}

/** Deletes old runs, except the last successful one whatever its age, because /status shows it. */
async function dropOldRuns(tx: Transaction, kind: SyncKind): Promise<void> {
  await sql`
    delete from sync_runs
    where id in (select id from sync_runs where kind = ${kind} order by id desc offset ${runsKeptMax})
      and id is distinct from (
        select id from sync_runs where kind = ${kind} and status = 'succeeded' order by finished_at desc limit 1
      )
  `.execute(tx);
}

export type Completion = {
  counts: Record<string, number>;
  version: string | null;
  problems: SyncProblem[];
  validators: Validators | null;
};

/** Records a successful run in the transaction of its changes. */
export async function completeRun(
  tx: Transaction,
  run: SyncRun,
  { counts, version, problems, validators }: Completion,
): Promise<SyncRun> {
  const { rows } = await sql<Row>`
    update sync_runs
    set status = 'succeeded', finished_at = clock_timestamp(), counts = ${JSON.stringify(counts)}::json,
      version = ${version}, problems = ${toJson(problems)}::jsonb,
      validators = ${validators === null ? null : JSON.stringify(validators)}::jsonb
    where id = ${run.id}
    returning ${columns}
  `.execute(tx);
  return toRun(rows[0] as Row);
}

/** Records a failed run. */
export async function failRun(
  tx: Transaction,
  run: SyncRun,
  { reason, message, problems }: SyncFailure,
): Promise<SyncRun> {
  const { rows } = await sql<Row>`
    update sync_runs
    set status = 'failed', finished_at = clock_timestamp(), reason = ${reason},
      message = ${cutText(message, reasonLengthMax)},
      problems = ${toJson(problems)}::jsonb
    where id = ${run.id}
    returning ${columns}
  `.execute(tx);
  return toRun(rows[0] as Row);
}

/** Makes reasons storable whatever the source contained; a run that cannot be ended would stay open. */
function toJson(problems: SyncProblem[]): string {
  const kept = problems.slice(0, problemsMax).map(({ subject, reason }) => ({
    subject: cutText(subject, reasonLengthMax),
    reason: cutText(reason, reasonLengthMax),
  }));
  return JSON.stringify(kept);
}

/** The source's state at the last successful run, if nothing has changed the blueprints since. */
export async function lastValidators(
  session: Executor,
  fingerprint: string,
): Promise<{ validators: Validators; run: SyncRun } | null> {
  const { rows } = await sql<Row & { validators: Validators }>`
    select ${columns}, validators
    from (
      select * from sync_runs where kind = 'blueprints' and status = 'succeeded' order by finished_at desc limit 1
    ) as latest
    where validators ->> 'fingerprint' = ${fingerprint}
      and (validators ->> 'revision')::bigint = (select revision from revisions where scope = 'blueprints')
  `.execute(session);
  if (!rows[0]) return null;
  const { validators, ...row } = rows[0];
  return { validators, run: toRun(row) };
}

/**
 * A run whose process died stays recorded as running until the next one. Because nobody holds the lock, it is shown as
 * interrupted.
 */
const shown = sql`
  select id, kind, source, trigger, started_at as "startedAt", finished_at as "finishedAt", counts, version, problems,
    case when dead then 'failed' else status end as status,
    case when dead then 'interrupted' else reason end as reason,
    case when dead then ${interruptedMessage} else message end as message
  from (
    select r.*, r.status = 'running' and not exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.granted and l.classid = ${runLock}::oid
        and l.objid = case r.kind when 'blueprints' then ${lockOf.blueprints}::oid else ${lockOf.chat}::oid end
        and l.database = (select oid from pg_database where datname = current_database())
    ) as dead
    from sync_runs r
  ) as looked_at
`;

/** Returns runs, newest first. */
export async function listRuns(
  database: Executor,
  { kind, page, limit }: { kind: SyncKind | null; page: number; limit: number },
): Promise<{ total: number; runs: SyncRun[] }> {
  const wanted = sql`(${kind}::text is null or kind = ${kind})`;
  const { rows } = await sql<Row>`
    ${shown} where ${wanted} order by id desc limit ${limit} offset ${(page - 1) * limit}
  `.execute(database);
  const counted = await sql<{ total: number }>`
    select count(*) as total from sync_runs where ${wanted}
  `.execute(database);
  return { total: counted.rows[0]?.total ?? 0, runs: rows.map(toRun) };
}

export async function readRun(database: Executor, id: string): Promise<SyncRun | null> {
  const { rows } = await sql<Row>`${shown} where id = ${id}`.execute(database);
  return rows[0] ? toRun(rows[0]) : null;
}

/** Returns the current run, if there is one. */
export async function runningRun(database: Executor, kind: SyncKind): Promise<SyncRun | null> {
  const { rows } = await sql<Row>`
    select ${columns} from sync_runs where kind = ${kind} and status = 'running' order by id desc limit 1
  `.execute(database);
  return rows[0] ? toRun(rows[0]) : null;
}

/** When each sync last succeeded; a sync that never did is left out. */
export async function lastSuccesses(database: Executor): Promise<{ kind: SyncKind; at: Date }[]> {
  const { rows } = await sql<{ kind: SyncKind; at: Date }>`
    select kind, max(finished_at) as at from sync_runs where status = 'succeeded' group by kind
  `.execute(database);
  return rows;
}

function toRun(row: Row): SyncRun {
  // The end of an interrupted run is the time at which the next one began.
  const finishedAt = row.reason === 'interrupted' ? null : row.finishedAt;
  return {
    ...withTextTimes({ ...row, finishedAt }),
    durationMs: finishedAt && Math.max(0, finishedAt.getTime() - row.startedAt.getTime()),
  };
}
