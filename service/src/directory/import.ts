/**
 * Imports a file of organisations, alliances or blueprints in one transaction: all of it, or nothing.
 * A line with a known slug (a blueprint: key) updates that entry, any other makes one; none is deleted.
 */
import type { TSchema } from 'typebox';
import { createValidator, type Validator } from '../contract/validate.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { allianceIds, upsertAlliances } from './alliances.ts';
import { announceAlliances, announceOrgs } from './announce.ts';
import { blueprintKeys, blueprintSlugs, findBlueprint, upsertBlueprints } from './blueprints.ts';
import { describeHold, heldSlugs } from './former-slugs.ts';
import type { SourceLine } from './import-source.ts';
import { toAddresses, writeManagers } from './import-managers.ts';
import { AllianceInput, BlueprintInput, OrgInput } from './inputs.ts';
import { lockDirectory } from './lock-directory.ts';
import { upsertOrgs } from './orgs.ts';
import { isAllowedSlug, SlugAllotment } from './slug.ts';

export type ImportKind = 'orgs' | 'alliances' | 'blueprints';
type BadLine = { line: number; reason: string };
export type ImportResult = {
  created: number;
  updated: number;
  /** Lines that were left out: all of them counted, the first thousand named. */
  bad: number;
  badLines: BadLine[];
};
export type ImportOptions = {
  kind: ImportKind;
  /** Goes on without bad lines; otherwise one of them undoes everything. */
  skipBad: boolean;
  /** Announces what is public for the first time. */
  emitEvents: boolean;
  /** For the addresses in events. */
  publicUrl: string;
  onProgress?: (lines: number) => void;
};

export const importSchemas: Record<ImportKind, TSchema> = {
  orgs: OrgInput,
  alliances: AllianceInput,
  blueprints: BlueprintInput,
};

const batchSize = 1_000;
/** A thousand lines of the largest would be 2 GiB. */
const batchBytesMax = 4 * 1024 * 1024;
const badLinesNamedMax = 1_000;

/** Thrown to undo an import that has bad lines. */
export class BadLinesError extends Error {
  override readonly name = 'BadLinesError';
  readonly result: ImportResult;
  constructor(result: ImportResult) {
    super(`${result.bad} bad lines; nothing was imported`);
    this.result = result;
  }
}

/** Runs inside the caller's transaction. Throws `BadLinesError` unless `skipBad`. */
export async function importLines(
  tx: Transaction,
  lines: AsyncIterable<SourceLine>,
  options: ImportOptions,
): Promise<ImportResult> {
  const run = createRun(tx, options);
  let batch: Accepted[] = [];
  let batchBytes = 0;
  for await (const line of lines) {
    const accepted = run.accept(line);
    if (accepted) batch.push(accepted);
    batchBytes += line.bytes ?? 0;
    if (batch.length < batchSize && batchBytes < batchBytesMax) continue;
    await run.write(batch);
    options.onProgress?.(line.number);
    batch = [];
    batchBytes = 0;
  }
  await run.write(batch);
  if (run.result.bad > 0 && !options.skipBad) throw new BadLinesError(run.result);
  return run.result;
}

/** Lets the planner and index-only scans see what a large import changed. Not inside a transaction. Where it cannot, autovacuum does so later: the import stands. */
export async function tidyAfterImport(
  database: Database,
  kind: ImportKind,
  result: ImportResult,
): Promise<void> {
  if (result.created + result.updated < batchSize) return;
  await sql`vacuum (analyze) ${sql.table(kind)}, ${sql.table(`${kind}_search`)}`
    .execute(database)
    .catch(() => {});
}

type Accepted = { line: number; input: Input };
type Input = OrgInput & AllianceInput & BlueprintInput;
type Counted = { created: boolean }[];

function createRun(tx: Transaction, options: ImportOptions) {
  const { kind } = options;
  let slugs: SlugAllotment | null = null;
  const validate = createValidator(importSchemas[kind]) as Validator<Input>;
  const lineOfKey = new Map<string, number>();
  /** Of slugs in the file, and of those that were made for its lines. */
  const lineOfSlug = new Map<string, number>();
  const result: ImportResult = { created: 0, updated: 0, bad: 0, badLines: [] };

  function refuse(line: number, reason: string): null {
    result.bad += 1;
    if (result.badLines.length < badLinesNamedMax) result.badLines.push({ line, reason });
    return null;
  }

  function accept(line: SourceLine): Accepted | null {
    if ('fault' in line) return refuse(line.number, line.fault);
    const checked = validate(line.value, '$');
    if (!checked.ok) {
      return refuse(
        line.number,
        checked.issues
          .map(({ path, message }) => `${path.replace(/^\$\.?/, '') || 'the line'} ${message}`)
          .join('; '),
      );
    }
    const input = checked.value;
    if (input.slug !== null && !isAllowedSlug(input.slug))
      return refuse(line.number, `slug ${input.slug} is reserved`);
    const fault = valueFault(input);
    if (fault !== null) return refuse(line.number, fault);
    const { key, slug } = input;
    const keyLine = lineOfKey.get(key);
    if (keyLine !== undefined) return refuse(line.number, `key ${key} belongs to line ${keyLine}`);
    const slugLine = slug === null ? undefined : lineOfSlug.get(slug);
    if (slugLine !== undefined)
      return refuse(line.number, `slug ${slug} belongs to line ${slugLine}`);
    if (kind === 'blueprints') lineOfKey.set(key, line.number);
    if (slug !== null) lineOfSlug.set(slug, line.number);
    return { line: line.number, input };
  }

  /** When there is something to write, not before: lines may be long in coming, and other writers would wait meanwhile. */
  async function takeTurn(): Promise<SlugAllotment> {
    // However long another import takes, the server lets this one wait for it. Over HTTP the pool's own bound is
    // shorter: it gives the connection up after 65 s.
    await sql`set local statement_timeout = 0`.execute(tx);
    await lockDirectory(tx, kind);
    return SlugAllotment.start(tx, kind);
  }

  async function write(batch: Accepted[]): Promise<void> {
    slugs ??= await takeTurn();
    // Once a line is bad nothing will be kept; the rest is read only to name what else is bad.
    const doomed = result.bad > 0 && !options.skipBad;
    const known = await withoutHeldSlugs(tx, kind, await check[kind](tx, batch, refuse), refuse);
    if (doomed || known.length === 0) return;
    const named = await nameAll(tx, kind, slugs, known);
    for (const { slug, line } of named) lineOfSlug.set(slug, line);
    for (const { created } of await writers[kind](tx, named, options))
      result[created ? 'created' : 'updated'] += 1;
  }

  return { result, accept, write };
}

/** What no schema can say. */
function valueFault({ active, retiredAt, managers }: Input): string | null {
  if (active && retiredAt) return 'retiredAt goes only with active: false';
  try {
    toAddresses(managers ?? []);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.message.replace(':', '');
  }
}

type Known = Input & { line: number; allianceId: string | null };
type Named = Known & { slug: string };
type Refuse = (line: number, reason: string) => null;

/** What only the database can tell of a batch: the lines that stand, with what they refer to. */
const check: Record<
  ImportKind,
  (tx: Transaction, batch: Accepted[], refuse: Refuse) => Promise<Known[]>
> = {
  orgs: withKnownAlliances,
  alliances: async (_, batch) => batch.map(toKnown),
  blueprints: withFreeSlugs,
};

function toKnown({ line, input }: Accepted): Known {
  return { ...input, line, allianceId: null };
}

/** A blueprint is known by its key, so a slug in the file may be another one's. */
async function withFreeSlugs(tx: Transaction, batch: Accepted[], refuse: Refuse): Promise<Known[]> {
  const owners = await blueprintKeys(
    tx,
    batch.flatMap(({ input }) => input.slug ?? []),
  );
  return batch.map(toKnown).filter(({ line, slug, key }) => {
    const owner = slug === null ? undefined : owners.get(slug);
    if (owner === undefined || owner === key) return true;
    refuse(line, `slug ${slug} belongs to the blueprint ${owner}`);
    return false;
  });
}

async function withKnownAlliances(
  tx: Transaction,
  batch: Accepted[],
  refuse: Refuse,
): Promise<Known[]> {
  const wanted = [
    ...new Set(batch.flatMap(({ input }) => (input.alliance === null ? [] : [input.alliance]))),
  ];
  const ids = await allianceIds(tx, wanted);
  return batch.flatMap(({ line, input }): Known[] => {
    if (input.alliance === null) return [toKnown({ line, input })];
    const allianceId = ids.get(input.alliance);
    if (allianceId !== undefined) return [{ ...input, line, allianceId }];
    refuse(line, `alliance ${input.alliance} does not exist; import the alliances first`);
    return [];
  });
}

/** A slug that another entry had of late is not given out: who had it may have it back, which is known of blueprints alone. */
async function withoutHeldSlugs(
  tx: Transaction,
  kind: ImportKind,
  inputs: Known[],
  refuse: Refuse,
): Promise<Known[]> {
  const held = await heldSlugs(
    tx,
    kind,
    inputs.flatMap(({ slug }) => slug ?? []),
  );
  if (held.size === 0) return inputs;
  const free: Known[] = [];
  for (const input of inputs) {
    const hold = input.slug === null ? undefined : held.get(input.slug);
    const own = hold && kind === 'blueprints' ? await findBlueprint(tx, input.key) : null;
    if (!hold || own?.id === hold.entryId) free.push(input);
    else refuse(input.line, describeHold(input.slug ?? '', hold));
  }
  return free;
}

/** Gives a slug to every input that has none; a blueprint that exists keeps its own. */
async function nameAll(
  tx: Transaction,
  kind: ImportKind,
  slugs: SlugAllotment,
  inputs: Known[],
): Promise<Named[]> {
  const existing =
    kind === 'blueprints'
      ? await blueprintSlugs(
          tx,
          inputs.map(({ key }) => key),
        )
      : new Map<string, string>();
  const chosen = inputs.map((input) => input.slug ?? existing.get(input.key) ?? null);
  slugs.reserve(chosen.filter((slug) => slug !== null));
  const made = await slugs.allot(
    inputs.filter((_, index) => chosen[index] === null).map(({ name }) => name),
  );
  return inputs.map((input, index) => ({
    ...input,
    slug: chosen[index] ?? (made.shift() as string),
  }));
}

const writers: Record<
  ImportKind,
  (tx: Transaction, inputs: Named[], options: ImportOptions) => Promise<Counted>
> = {
  async orgs(tx, inputs, { emitEvents, publicUrl }) {
    const written = await upsertOrgs(tx, inputs);
    if (emitEvents) await announceOrgs(tx, written, publicUrl);
    await writeManagers(tx, 'orgs', inputs);
    return written;
  },
  async alliances(tx, inputs, { emitEvents, publicUrl }) {
    const written = await upsertAlliances(tx, inputs);
    if (emitEvents) await announceAlliances(tx, written, publicUrl);
    await writeManagers(tx, 'alliances', inputs);
    return written;
  },
  blueprints: (tx, inputs) => upsertBlueprints(tx, inputs),
};
