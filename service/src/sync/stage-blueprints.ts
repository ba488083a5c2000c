/**
 * Checks the rows of a source one by one and writes them to temporary tables, with no transaction open, so that a slow
 * source blocks nothing. Changes nothing in the directory; next: `sync-blueprints.ts`.
 */
import type { SyncProblem } from '../contract/sync-run.ts';
import { toUtc } from '../contract/parse-time.ts';
import { createValidator, type Validator } from '../contract/validate.ts';
import { sql, type Database } from '../database/database.ts';
import type { BlueprintInput } from '../directory/inputs.ts';
import { formatIssues, importSchemas } from '../directory/import.ts';
import { isAllowedSlug } from '../directory/slug.ts';
import type { SourceRows } from './read-rows.ts';
import { SyncFailure } from './sync-failure.ts';

export type Staged = {
  /** Rows in `staged_blueprints`. */
  good: number;
  /** Skipped rows. */
  bad: number;
  problems: SyncProblem[];
  /** Whether a skipped row has no key; it may be any blueprint. */
  missesKeys: boolean;
};

/** Ten times the size that the service is built for. */
export const rowsMax = 1_000_000;
const batchSize = 1_000;
const problemsMax = 100;
const keyLengthMax = 200;

/** Throws a `SyncFailure` for bad rows unless `skipBad` is set, and for a source without rows. */
export async function stageBlueprints(
  session: Database,
  { unit, rows }: SourceRows,
  { skipBad, signal }: { skipBad: boolean; signal: AbortSignal },
): Promise<Staged> {
  await createTables(session);
  const stage = new Stage(session, unit);
  for await (const row of rows) {
    stage.take(row.number, 'fault' in row ? row : { value: row.value });
    if (stage.waiting >= batchSize) await stage.write();
    signal.throwIfAborted();
  }
  await stage.write();
  if (stage.result.bad > 0 && !skipBad) throw badRows(stage.result);
  if (stage.result.good === 0) throw new SyncFailure('empty', 'the source has no blueprints');
  await sql`analyze staged_blueprints`.execute(session);
  return stage.result;
}

export function badRows({ bad, problems }: Pick<Staged, 'bad' | 'problems'>): SyncFailure {
  const [first] = problems;
  const example = first ? `, the first in ${first.subject}: ${first.reason}` : '';
  return new SyncFailure('bad_rows', `${bad} bad ${bad === 1 ? 'row' : 'rows'}${example}`, {
    problems,
  });
}

async function createTables(session: Database): Promise<void> {
  await sql`
    create temporary table staged_blueprints (
      number integer primary key,
      key text collate "C" not null unique,
      slug text collate "C" unique,
      input jsonb not null
    )
  `.execute(session);
  // The source has this blueprint although its row is invalid, so it is not missing.
  await sql`create temporary table kept_keys (key text collate "C" primary key)`.execute(session);
}

type Candidate = { number: number; key: string; slug: string | null; input: BlueprintInput };

class Stage {
  readonly result: Staged = { good: 0, bad: 0, problems: [], missesKeys: false };
  readonly #session: Database;
  readonly #unit: SourceRows['unit'];
  readonly #validate = createValidator(importSchemas.blueprints) as Validator<BlueprintInput>;
  #candidates: Candidate[] = [];
  #keptKeys: string[] = [];

  constructor(session: Database, unit: SourceRows['unit']) {
    this.#session = session;
    this.#unit = unit;
  }

  get waiting(): number {
    return this.#candidates.length + this.#keptKeys.length;
  }

  take(number: number, row: { value: unknown } | { fault: string }): void {
    if (number > rowsMax)
      throw new SyncFailure('too_large', `the source has more than ${rowsMax} rows`);
    if ('fault' in row) return this.#refuse(number, row.fault, null);
    // Reads the key before the check, because the rest of the row may fail it.
    const key = readKey(row.value);
    const checked = this.#validate(row.value, '$');
    if (!checked.ok) return this.#refuse(number, formatIssues(checked.issues, 'the row'), key);
    const { retiredAt } = checked.value;
    const input = { ...checked.value, retiredAt: retiredAt && toUtc(retiredAt) };
    if (input.slug !== null && !isAllowedSlug(input.slug))
      return this.#refuse(number, `slug ${input.slug} is reserved`, key);
    this.#candidates.push({ number, key: input.key, slug: input.slug, input });
  }

  async write(): Promise<void> {
    const candidates = this.#candidates;
    this.#candidates = [];
    const written = await insertRows(this.#session, candidates);
    this.result.good += written.size;
    const left = candidates.filter(({ number }) => !written.has(number));
    for (const { number, key, reason } of await explainDoubles(this.#session, left))
      this.#refuse(number, reason, key);
    const keys = this.#keptKeys;
    this.#keptKeys = [];
    if (keys.length === 0) return;
    await sql`
      insert into kept_keys select unnest(${keys}::text[]) on conflict do nothing
    `.execute(this.#session);
  }

  #refuse(number: number, reason: string, key: string | null): void {
    const { result } = this;
    result.bad += 1;
    if (result.problems.length < problemsMax)
      result.problems.push({ subject: `${this.#unit} ${number}`, reason });
    if (key === null) result.missesKeys = true;
    else this.#keptKeys.push(key);
  }
}

/** Null if a row has no key. */
function readKey(value: unknown): string | null {
  const { key } = (value ?? {}) as { key?: unknown };
  const usable =
    typeof key === 'string' && key !== '' && key.length <= keyLengthMax && !key.includes('\0');
  return usable && key.isWellFormed() ? key : null;
}

/** Returns the numbers of the rows that were written: neither their key nor their slug existed before. */
async function insertRows(session: Database, candidates: Candidate[]): Promise<Set<number>> {
  if (candidates.length === 0) return new Set();
  const { rows } = await sql<{ number: number }>`
    insert into staged_blueprints (number, key, slug, input)
    select number, key, slug, input
    from jsonb_to_recordset(${JSON.stringify(candidates)}::jsonb)
      as g(number integer, key text, slug text, input jsonb)
    order by number
    on conflict do nothing
    returning number
  `.execute(session);
  return new Set(rows.map(({ number }) => number));
}

async function explainDoubles(
  session: Database,
  left: Candidate[],
): Promise<{ number: number; key: string; reason: string }[]> {
  if (left.length === 0) return [];
  const given = left.map(({ number, key, slug }) => ({ number, key, slug }));
  const { rows } = await sql<{
    number: number;
    key: string;
    slug: string | null;
    of_key: number | null;
    of_slug: number | null;
  }>`
    select g.number, g.key, g.slug, k.number as of_key, s.number as of_slug
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g(number integer, key text, slug text)
    left join staged_blueprints k on k.key = g.key
    left join staged_blueprints s on s.slug = g.slug
    order by g.number
  `.execute(session);
  return rows.map(({ number, key, slug, of_key: ofKey, of_slug: ofSlug }) => ({
    number,
    key,
    reason:
      ofKey === null
        ? `slug ${slug} stands in row ${ofSlug} too`
        : `key ${key} stands in row ${ofKey} too`,
  }));
}
