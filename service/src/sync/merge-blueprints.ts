/**
 * Updates the blueprints to match the staged rows, in the caller's transaction: writes new and changed ones, retires
 * missing ones, and counts. Unchanged blueprints are not touched.
 */
import { blueprintFields } from '../contract/blueprint.ts';
import type { SyncProblem } from '../contract/sync-run.ts';
import { sql, type Transaction } from '../database/database.ts';
import { columnList, columnsOf, jsonValues, writableFields } from '../directory/columns.ts';
import type { SourceLine } from '../directory/import-source.ts';
import { BadLinesError, importLines, type ImportResult } from '../directory/import.ts';
import { retireBlueprints } from '../directory/blueprints.ts';
import { lockDirectory } from '../directory/lock-directory.ts';
import type { SourceRows } from './read-rows.ts';
import { badRows, type Staged } from './stage-blueprints.ts';
import { SyncFailure } from './sync-failure.ts';

type BlueprintCounts = {
  total: number;
  created: number;
  updated: number;
  retired: number;
  unchanged: number;
  failed: number;
};
export type Merged = {
  counts: BlueprintCounts;
  version: string | null;
  problems: SyncProblem[];
};

export type MergeOptions = {
  unit: SourceRows['unit'];
  /** Allows retiring more than half of them. */
  force: boolean;
  skipBad: boolean;
  publicUrl: string;
  signal: AbortSignal;
};

const pageSize = 1_000;

/** Throws a `SyncFailure` for a change that must not happen; the caller then rolls back. */
export async function mergeBlueprints(
  tx: Transaction,
  staged: Staged,
  options: MergeOptions,
): Promise<Merged> {
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
