/**
 * Runs the syncs of a process: on schedule if it is a worker, and on request. One run at a time over all processes;
 * stopping aborts the run of this process and records that.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Actor } from '../access/actor.ts';
import type { SyncKind, SyncRun } from '../contract/sync-run.ts';
import type { Config } from '../settings/config.ts';
import type { Schedule } from '../runtime/cron.ts';
import {
  type ConnectionSettings,
  type Database,
  sql,
  type Transaction,
} from '../database/database.ts';
import { coalesce } from '../database/coalesce.ts';
import type { Listener, Session } from '../database/session.ts';
import type { Logger } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { Loop } from '../loop.ts';
import { type ChatProvider, createChatProvider } from './chat-provider.ts';
import type { DueTime, RunOutcome } from './perform-run.ts';
import { lastSuccesses, type StartedBy } from './runs.ts';
import { readLocation } from './open-source.ts';
import { syncBlueprints } from './sync-blueprints.ts';
import { syncChat } from './sync-chat.ts';

type SyncsDependencies = {
  config: Pick<Config, 'syncs' | 'serviceName' | 'publicUrl'>;
  version: string;
  database: Database;
  connection: ConnectionSettings;
  session: Session;
  metrics: Pick<Metrics, 'synced' | 'lastSyncs'>;
  log: Logger;
};

export type SyncOptions = { force: boolean; skipBad: boolean };
export type StartedSync =
  | { kind: 'started'; run: SyncRun }
  /** A run of this kind is running in some process. */
  | { kind: 'conflict'; run: SyncRun | null }
  /** Its variables are not set. */
  | { kind: 'unconfigured' };

export type Syncs = {
  /** Starts a run from the configured source and returns when it is recorded; the run continues in the background. */
  begin(kind: SyncKind, options: SyncOptions, actor: Actor): Promise<StartedSync>;
  /** Starts following the schedule. */
  start(): void;
  /** May be called twice. */
  stop(): Promise<void>;
};

type Asked = SyncOptions &
  StartedBy & {
    trigger: SyncRun['trigger'];
    onStart?: (run: SyncRun) => void;
    due?: DueTime;
  };

/** The longest wait for a due time, because a clock may be changed and a process may freeze. */
const waitMsMax = 30_000;
/** A scrape does not wait for a database that is unavailable, and two scrapers cost no more than one. */
const scrapeBounds = { timeoutMs: 2_000, reuseMs: 1_000 };
/** A statement that still runs by then ends with its session and is rolled back. */
const stopWithinMs = 5_000;
/** Of the processes with a schedule one holds its advisory lock and follows it, so that a due time costs one connection. */
const scheduleLocks: Record<SyncKind, number> = { blueprints: 70420022, chat: 70420027 };
/** The pause while another run of the same kind is running, or another process follows the schedule. */
const busyMs = 1_000;
const kinds = ['blueprints', 'chat'] as const;

export function createSyncs(dependencies: SyncsDependencies): Syncs {
  const { config, database, session, metrics, log } = dependencies;
  const { syncs } = config;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<unknown>>();
  const runner = createRunner(dependencies, stopping.signal);
  const scheduled = kinds.flatMap((kind) => {
    const schedule = syncs[kind]?.schedule;
    if (!schedule) return [];
    const turn = session.createListener([], () => {}, { exclusive: scheduleLocks[kind] });
    const loop = createScheduleLoop({ ...dependencies, turn }, kind, schedule, runner);
    return [{ kind, turn, loop }];
  });
  const following = scheduled.map(({ kind }) => kind);
  metrics.lastSyncs(coalesce(() => lastSuccessesOf(database, following), scrapeBounds));

  return {
    async begin(kind, options, actor) {
      if (!syncs[kind]) return { kind: 'unconfigured' };
      const { promise: begun, resolve: begin } = Promise.withResolvers<StartedSync>();
      const asked: Asked = {
        ...options,
        trigger: 'api',
        actor,
        onStart: (started) => begin({ kind: 'started', run: started }),
      };
      const ended = runner.perform(kind, asked);
      inFlight.add(ended);
      void ended
        .catch((error: unknown) => log.error({ err: error, kind }, 'sync.broken'))
        .finally(() => inFlight.delete(ended));
      return Promise.race([begun, ended.then(asConflict)]);
    },
    start() {
      for (const { turn, loop } of scheduled) {
        turn.start();
        loop.start();
      }
    },
    async stop() {
      stopping.abort();
      const ended = Promise.all([...scheduled.map(({ loop }) => loop.stop()), ...inFlight]);
      await Promise.race([ended.catch(() => {}), wait(stopWithinMs, undefined, { ref: false })]);
      await Promise.all(scheduled.map(({ turn }) => turn.stop()));
      await runner.close();
    },
  };
}

type Runner = ReturnType<typeof createRunner>;

function createRunner(dependencies: SyncsDependencies, signal: AbortSignal) {
  const { connection, config, version } = dependencies;
  const { syncs, publicUrl, serviceName } = config;
  let provider: ChatProvider | null = null;

  function run(kind: SyncKind, asked: Asked): Promise<RunOutcome> {
    const common = { ...asked, publicUrl, userAgent: `${serviceName}-Sync/${version}`, signal };
    if (kind === 'blueprints') {
      const location = readLocation(syncs.blueprints?.source ?? '');
      if (!location) throw new Error('no source is configured');
      return syncBlueprints(connection, { ...common, location });
    }
    if (!syncs.chat) throw new Error('no chat provider is configured');
    provider ??= createChatProvider(syncs.chat, { publicUrl, version });
    return syncChat(connection, { ...common, provider });
  }

  return {
    /** Throws errors that are not the source's fault. */
    async perform(kind: SyncKind, asked: Asked): Promise<RunOutcome> {
      const outcome = await run(kind, asked);
      if (outcome.kind === 'succeeded' || outcome.kind === 'failed')
        logRun(dependencies, outcome.run);
      return outcome;
    },
    close: async () => provider?.close(),
  };
}

function createScheduleLoop(
  { database, turn, log }: SyncsDependencies & { turn: Listener },
  kind: SyncKind,
  schedule: Schedule,
  runner: Runner,
): Loop {
  let planned = false;
  return new Loop({
    name: `${kind} sync`,
    log,
    async turn() {
      if (!turn.listens()) return busyMs;
      if (!planned) await plan(database, kind, schedule);
      planned = true;
      const untilMs = await untilDue(database, kind);
      if (untilMs > 0) return Math.min(Math.ceil(untilMs), waitMsMax);
      const due = dueTime(kind, schedule);
      const asked = { trigger: 'schedule', force: false, skipBad: false, due } as const;
      const outcome = await runner.perform(kind, asked);
      return outcome.kind === 'conflict' ? busyMs : 0;
    },
  });
}

function logRun({ metrics, log }: Pick<SyncsDependencies, 'metrics' | 'log'>, run: SyncRun): void {
  const { id, kind, trigger, source, status, durationMs, counts, reason, message } = run;
  metrics.synced({ kind, outcome: status === 'succeeded' ? 'succeeded' : 'failed' });
  const line = { run: id, kind, trigger, source, durationMs };
  if (status === 'succeeded') log.info({ ...line, counts }, 'sync.completed');
  else log.error({ ...line, reason, message }, 'sync.failed');
}

/** A run that ends before it is recorded was never started; a recorded run has been logged already. */
function asConflict(outcome: RunOutcome): StartedSync {
  return { kind: 'conflict', run: outcome.kind === 'conflict' ? outcome.run : null };
}

/** 1970 for a sync that has never succeeded, so that an alert on its age finds it too. */
async function lastSuccessesOf(database: Database, wanted: SyncKind[]) {
  const known = await lastSuccesses(database);
  return wanted.map(
    (kind) => known.find((each) => each.kind === kind) ?? { kind, at: new Date(0) },
  );
}

/** How often to try a run that crashes its process before leaving it until the next due time. */
const triesMax = 3;

/**
 * Stores the next due time if there is none or the schedule has changed: one row per kind for all processes, on the database's
 * clock. A due time in the past stays due.
 */
async function plan(database: Database, kind: SyncKind, schedule: Schedule): Promise<void> {
  const dueAt = schedule.next(await readClock(database));
  await sql`
    insert into sync_schedules as s (kind, cron, due_at) values (${kind}, ${schedule.text}, ${dueAt})
    on conflict (kind) do update set cron = excluded.cron, due_at = excluded.due_at, tries = 0
    where s.cron <> excluded.cron
  `.execute(database);
}

/** Milliseconds until the sync is due; 0 or less if it is due now. */
async function untilDue(database: Database, kind: SyncKind): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from due_at - clock_timestamp())::float8 * 1000 as ms from sync_schedules where kind = ${kind}
  `.execute(database);
  // The row is missing after a restore; the next start plans it again.
  return rows[0]?.ms ?? Number.POSITIVE_INFINITY;
}

/** The due time as `performRun` uses it. */
function dueTime(kind: SyncKind, schedule: Schedule): DueTime {
  return {
    async take(session) {
      const { rows } = await sql<{ tries: number }>`
        update sync_schedules set tries = tries + 1
        where kind = ${kind} and due_at <= clock_timestamp()
        returning tries
      `.execute(session);
      const [row] = rows;
      if (!row) return false;
      if (row.tries <= triesMax) return true;
      await moveOn(session, kind, schedule);
      return false;
    },
    async resolve(tx: Transaction, run: SyncRun) {
      if (run.reason === 'stopped') await giveBack(tx, kind);
      else await moveOn(tx, kind, schedule);
    },
  };
}

/** Skips due times that passed during the run. */
async function moveOn(database: Database, kind: SyncKind, schedule: Schedule): Promise<void> {
  const dueAt = schedule.next(await readClock(database));
  await sql`
    update sync_schedules set due_at = ${dueAt}, tries = 0 where kind = ${kind}
  `.execute(database);
}

/** Leaves the sync due, for this or another process to run. */
async function giveBack(tx: Transaction, kind: SyncKind): Promise<void> {
  await sql`
    update sync_schedules set tries = greatest(tries - 1, 0) where kind = ${kind}
  `.execute(tx);
}

async function readClock(database: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(database);
  return rows[0]?.now ?? new Date();
}
