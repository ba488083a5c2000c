/**
 * Performs one run of the blueprint sync: source → rows → stage → merge and event. An incomplete or implausible source
 * changes nothing; the run is recorded as failed with the reason.
 */
import type { SyncRun, SyncProblem } from '../contract/sync-run.ts';
import {
  type ConnectionSettings,
  type Database,
  type Transaction,
  sql,
} from '../database/database.ts';
import {
  tidyAfterImport,
  BadLinesError,
  importLines,
  type ImportResult,
} from '../directory/import.ts';
import { createHttpClient } from './http-client.ts';
import {
  openSource,
  type OpenedSource,
  type SourceState,
  locationFingerprint,
  locationName,
  publicLocationName,
  type SourceLocation,
} from './open-source.ts';
import { performRun, type CompleteRun, type DueTime, type RunOutcome } from './perform-run.ts';
import { type StartedBy, lastValidators, type Completion, type Validators } from './runs.ts';
import { readRows, type SourceRows } from './read-rows.ts';
import { stageBlueprints, badRows, type Staged } from './stage-blueprints.ts';
import { blueprintFields } from '../contract/blueprint.ts';
import { columnList, columnsOf, jsonValues, writableFields } from '../directory/rows.ts';
import type { SourceLine } from '../directory/import-source.ts';
import { retireBlueprints } from '../directory/blueprints.ts';
import { lockDirectory } from '../directory/lock-directory.ts';
import { SyncFailure } from './sync-failure.ts';

export type BlueprintSyncRequest = StartedBy & {
  location: SourceLocation;
  trigger: SyncRun['trigger'];
  /**
   * Continues even if more than half of the active blueprints would be retired, and reads the source whatever its ETag.
   */
  force: boolean;
  /** Skips bad rows. */
  skipBad: boolean;
  publicUrl: string;
  userAgent: string;
  /** The time from the request to the last byte; ten minutes. */
  timeoutMs?: number;
  signal: AbortSignal;
  onStart?: (run: SyncRun) => void;
  onProgress?: (readBytes: number) => void;
  due?: DueTime;
};

type Content = Extract<OpenedSource, { kind: 'content' }>;
type Last = Awaited<ReturnType<typeof lastValidators>>;

export const timeoutMs = 10 * 60_000;

export async function syncBlueprints(
  connection: ConnectionSettings,
  request: BlueprintSyncRequest,
): Promise<RunOutcome> {
  const { location, trigger, actor, signal, onStart, due } = request;
  const [source, publicSource] = [locationName(location), publicLocationName(location)];
  return performRun(
    connection,
    { kind: 'blueprints', source, publicSource, trigger, actor, signal, onStart, due },
    (session, complete) => perform(session, complete, request),
  );
}

async function perform(
  session: Database,
  complete: CompleteRun,
  request: BlueprintSyncRequest,
): Promise<SyncRun> {
  const { location, userAgent, force, signal } = request;
  const fingerprint = location.kind === 'url' ? locationFingerprint(location.url) : null;
  // The source's state at the last change of the blueprints.
  const last = fingerprint === null || force ? null : await lastValidators(session, fingerprint);
  const client = createHttpClient();
  try {
    const opened = await openSource(location, {
      client,
      userAgent,
      known: last?.validators ?? null,
      signal: AbortSignal.any([signal, AbortSignal.timeout(request.timeoutMs ?? timeoutMs)]),
    });
    if (opened.kind === 'content')
      return await take(session, complete, request, opened, fingerprint);
    if (!last) throw new Error('nothing was known that could be confirmed');
    return await session.transaction().execute((tx) => complete(tx, repeated(last)));
  } finally {
    await client.close();
  }
}

/** The source and the blueprints are unchanged. */
function repeated({ run, validators }: NonNullable<Last>): Completion {
  const total = run.counts?.['total'] ?? 0;
  const counts = { total, created: 0, updated: 0, retired: 0, unchanged: total, failed: 0 };
  return { counts, version: run.version, problems: [], validators };
}

async function take(
  session: Database,
  complete: CompleteRun,
  request: BlueprintSyncRequest,
  content: Content,
  fingerprint: string | null,
): Promise<SyncRun> {
  const { skipBad, signal, force, publicUrl, onProgress } = request;
  const source = await readRows(content, onProgress ?? (() => {}));
  const staged = await stageBlueprints(session, source, { skipBad, signal });
  const options = { unit: source.unit, skipBad, force, publicUrl, signal };
  const { run, counts } = await session.transaction().execute(async (tx) => {
    const merged = await mergeBlueprints(tx, staged, options);
    // If rows were skipped, the source has more than the blueprints show, so the next run reads it again.
    const validators =
      fingerprint === null || merged.counts.failed > 0
        ? null
        : await validatorsOf(tx, content.state, fingerprint);
    return { run: await complete(tx, { ...merged, validators }), counts: merged.counts };
  });
  const { created, updated, retired } = counts;
  const written = { created, updated: updated + retired, bad: 0, badLines: [] };
  await tidyAfterImport(session, 'blueprints', written);
  return run;
}

async function validatorsOf(
  tx: Transaction,
  state: SourceState,
  fingerprint: string,
): Promise<Validators | null> {
  if (state.etag === null && state.lastModified === null) return null;
  // Increases the revision now instead of at the commit, so that it can be stored with the run.
  await sql`set constraints all immediate`.execute(tx);
  const { rows } = await sql<{ revision: number }>`
    select revision from revisions where scope = 'blueprints'
  `.execute(tx);
  return { ...state, fingerprint, revision: rows[0]?.revision ?? 0 };
}

type MergeOptions = Pick<BlueprintSyncRequest, 'force' | 'skipBad' | 'publicUrl' | 'signal'> &
  Pick<SourceRows, 'unit'>;

const pageSize = 1_000;

/**
 * Updates the blueprints to match the staged rows: writes new and changed ones, retires missing ones, and counts. Unchanged
 * blueprints are not touched. Throws a `SyncFailure` for a change that must not happen; the caller then rolls back.
 */
async function mergeBlueprints(tx: Transaction, staged: Staged, options: MergeOptions) {
  // Takes the lock first, as every import does, so that a concurrent import is either seen here or comes later.
  await lockDirectory(tx, 'blueprints');
  await keepWhatIsThere(tx, staged);
  if (!options.force) await refuseShrinking(tx);
  const changed = await findChanged(tx);
  options.signal.throwIfAborted();
  const written = await write(tx, options);
  options.signal.throwIfAborted();
  const retired = await retireBlueprints(
    tx,
    sql`
      not exists (select from staged_blueprints s where s.key = b.key)
      and not exists (select from kept_keys k where k.key = b.key)
    `,
  );
  return {
    counts: {
      total: staged.good + staged.bad,
      created: written.created,
      updated: written.updated,
      retired,
      unchanged: staged.good - changed,
      failed: staged.bad + written.bad,
    },
    version: await readVersion(tx),
    problems: [...staged.problems, ...problemsOf(written, options)],
  };
}

/** A skipped row without a key may be any blueprint, so none counts as missing. */
async function keepWhatIsThere(tx: Transaction, { missesKeys }: Staged): Promise<void> {
  if (!missesKeys) return;
  await sql`
    insert into kept_keys select key from blueprints where active on conflict do nothing
  `.execute(tx);
}

/** A source that lost more than half of what is active is more likely broken than right. */
async function refuseShrinking(tx: Transaction): Promise<void> {
  const { rows } = await sql<{ active: number; staying: number }>`
    select count(*) as active, count(*) filter (
      where exists (
        select from staged_blueprints s where s.key = b.key and (s.input -> 'active')::boolean
      ) or exists (select from kept_keys k where k.key = b.key)
    ) as staying
    from blueprints b where b.active
  `.execute(tx);
  const { active = 0, staying = 0 } = rows[0] ?? {};
  if (staying * 2 >= active) return;
  throw new SyncFailure(
    'shrunk',
    `the source would retire ${active - staying} of ${active} active blueprints, more than half; where that is right, run it by hand with --force`,
  );
}

// For skipped rows, a slug and a time that the source does not name stay unchanged.
const { key: _, slug: __, retiredAt: ___, ...comparedFields } = blueprintFields;
const compared = columnsOf(writableFields(comparedFields));

/**
 * Lists new and changed blueprints, those with a slug from the source first, so that none of these slugs is given to
 * another.
 */
async function findChanged(tx: Transaction): Promise<number> {
  await sql`
    create temporary table changed_blueprints on commit drop as
    select row_number() over (order by s.slug is null, s.number) as position, s.number, s.input
    from staged_blueprints s left join blueprints b on b.key = s.key
    where b.id is null
      or (b.slug, ${columnList(compared, 'b')})
        is distinct from (coalesce(s.slug, b.slug), ${jsonValues(compared, 's.input')})
      or (s.input ->> 'retiredAt')::timestamptz(3) <> coalesce(b.retired_at, '-infinity')
  `.execute(tx);
  await sql`create unique index on changed_blueprints (position)`.execute(tx);
  const { rows } = await sql<{ changed: number }>`
    select count(*) as changed from changed_blueprints
  `.execute(tx);
  return rows[0]?.changed ?? 0;
}

/** Uses the operators' import, so that there is one way to write a blueprint. */
async function write(tx: Transaction, options: MergeOptions): Promise<ImportResult> {
  const { skipBad, publicUrl, signal } = options;
  try {
    return await importLines(tx, readChanged(tx, signal), {
      kind: 'blueprints',
      skipBad,
      emitEvents: true,
      publicUrl,
    });
  } catch (error) {
    if (!(error instanceof BadLinesError)) throw error;
    const { result } = error;
    throw badRows({ bad: result.bad, problems: problemsOf(result, options) });
  }
}

async function* readChanged(tx: Transaction, signal: AbortSignal): AsyncGenerator<SourceLine> {
  for (let after = 0; ; after += pageSize) {
    signal.throwIfAborted();
    const { rows } = await sql<{ number: number; input: unknown }>`
      select number, input from changed_blueprints
      where position > ${after} and position <= ${after + pageSize} order by position
    `.execute(tx);
    for (const { number, input } of rows) yield { number, value: input };
    if (rows.length < pageSize) return;
  }
}

function problemsOf({ badLines }: ImportResult, { unit }: MergeOptions): SyncProblem[] {
  return badLines.map(({ line, reason }) => ({ subject: `${unit} ${line}`, reason }));
}

/** The release that all rows name, or null if they name several or none. */
async function readVersion(tx: Transaction): Promise<string | null> {
  const { rows } = await sql<{ version: string | null }>`
    select case when count(distinct coalesce(input ->> 'version', '')) = 1 then min(input ->> 'version') end as version
    from staged_blueprints
  `.execute(tx);
  return rows[0]?.version ?? null;
}
