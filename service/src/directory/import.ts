/**
 * Imports a file of organisations, alliances or blueprints in one transaction: all of it, or nothing. A line with a
 * known slug (a blueprint: key) updates that entry, any other line creates one; none is deleted.
 */
import type { TSchema } from 'typebox';
import { toAddresses, writeManagers } from '../access/managers.ts';
import { createValidator, type Validator } from '../contract/validate.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { invalid, ServiceError, type Issue } from '../errors.ts';
import { upsertAlliances, allianceIds } from './alliances.ts';
import { announceNew, announceNothing } from './announce.ts';
import { upsertBlueprints, blueprintKeys, blueprintSlugs, findBlueprint } from './blueprints.ts';
import { ExistingNames } from './existing-names.ts';
import type { SourceLine } from './import-source.ts';
import { AllianceInput, BlueprintInput, OrgInput } from './inputs.ts';
import { lockDirectory, type SlugTable } from './lock-directory.ts';
import { upsertOrgs } from './orgs.ts';
import { isAllowedSlug, SlugAllocator, describeReservation, reservedSlugs } from './slug.ts';

export type ImportKind = SlugTable;
type BadLine = { line: number; reason: string };
export type ImportResult = {
  created: number;
  updated: number;
  /** The rejected lines: all of them are counted, the first thousand are listed. */
  bad: number;
  badLines: BadLine[];
};
export type ImportOptions = {
  kind: ImportKind;
  /** Skips bad lines; otherwise one of them undoes everything. */
  skipBad: boolean;
  /** Publishes events for entries that become public or change. */
  emitEvents: boolean;
  /** Creates entries without a slug even if others have their names; otherwise one such name undoes everything. */
  allowDuplicates?: boolean;
  /** The base of addresses in events. */
  publicUrl: string;
  /** Gets the announcements that need what is imported next in the transaction: an alliance counts its organisations. */
  later?: (() => Promise<unknown>)[];
};

export const importSchemas: Record<ImportKind, TSchema> = {
  orgs: OrgInput,
  alliances: AllianceInput,
  blueprints: BlueprintInput,
};

const batchSize = 1_000;
/** Bounds the memory: a thousand lines of the maximum length would be 2 GiB. */
const batchBytesMax = 4 * 1024 * 1024;
export const badLinesNamedMax = 1_000;

/** Thrown to undo an import that has bad lines. */
export class BadLinesError extends Error {
  override readonly name = 'BadLinesError';
  readonly result: ImportResult;
  constructor(result: ImportResult) {
    super(`${result.bad} bad lines; nothing was imported`);
    this.result = result;
  }
}

/**
 * Runs inside the caller's transaction. Throws `BadLinesError` unless `skipBad` is set, and `ExistingNamesError` unless
 * `allowDuplicates` is set.
 */
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
    batch = [];
    batchBytes = 0;
  }
  await run.write(batch);
  run.finish();
  return run.result;
}

/**
 * Vacuums after a large import, for the planner and for index-only scans. It cannot run inside a transaction. If it
 * fails, or another session is at it, the import stands, and autovacuum does the same later.
 */
export async function tidyAfterImport(
  database: Database,
  kind: ImportKind,
  result: ImportResult,
): Promise<void> {
  if (result.created + result.updated < batchSize) return;
  await sql`vacuum (analyze, skip_locked) ${sql.table(kind)}, ${sql.table(`searchable_${kind}`)}`
    .execute(database)
    .catch(() => {});
}

function createRun(tx: Transaction, options: ImportOptions) {
  const { kind } = options;
  let slugs: SlugAllocator | null = null;
  // Blueprints are known by their keys.
  const existing =
    kind === 'blueprints' || options.allowDuplicates ? null : new ExistingNames(tx, kind);
  const validate = createValidator(importSchemas[kind]) as Validator<Input>;
  const lineOfKey = new Map<string, number>();
  /** The slugs given in the file, and those made for its lines. */
  const lineOfSlug = new Map<string, number>();
  const result: ImportResult = { created: 0, updated: 0, bad: 0, badLines: [] };

  function refuse(line: number, reason: string): null {
    result.bad += 1;
    if (result.badLines.length < badLinesNamedMax) result.badLines.push({ line, reason });
    return null;
  }

  function accept(line: SourceLine): Accepted | null {
    // Nobody who skips bad lines means to skip the rest of the file.
    if ('fault' in line && line.endsInput && options.skipBad)
      throw invalid({ path: `line ${line.number}`, message: line.fault });
    if ('fault' in line) return refuse(line.number, line.fault);
    const checked = validate(line.value, '$');
    if (!checked.ok) return refuse(line.number, formatIssues(checked.issues, 'the line'));
    const input = checked.value;
    const fault = valueFault(input) ?? repetitionFault(input, lineOfKey, lineOfSlug);
    if (fault !== null) return refuse(line.number, fault);
    const { key, slug } = input;
    if (kind === 'blueprints') lineOfKey.set(key, line.number);
    if (slug !== null) lineOfSlug.set(slug, line.number);
    return { line: line.number, input };
  }

  async function write(batch: Accepted[]): Promise<void> {
    slugs ??= await takeTurn(tx, options);
    const known = await checkBatch(tx, kind, batch, refuse);
    await existing?.look(known);
    // After a refusal nothing is stored; the rest is read only to report all that is wrong.
    if (refusal() !== null || known.length === 0) return;
    const named = await nameAll(tx, kind, slugs, known);
    for (const { slug, line } of named) lineOfSlug.set(slug, line);
    for (const { created } of await writers[kind](tx, named, options))
      result[created ? 'created' : 'updated'] += 1;
  }

  function refusal(): Error | null {
    if (result.bad > 0 && !options.skipBad) return new BadLinesError(result);
    return existing?.any ? existing.error() : null;
  }

  function finish(): void {
    const error = refusal();
    if (error !== null) throw error;
  }

  return { result, accept, write, finish };
}

function repetitionFault(
  { key, slug }: Input,
  lineOfKey: ReadonlyMap<string, number>,
  lineOfSlug: ReadonlyMap<string, number>,
): string | null {
  const keyLine = lineOfKey.get(key);
  if (keyLine !== undefined) return `key ${key} belongs to line ${keyLine}`;
  const slugLine = slug === null ? undefined : lineOfSlug.get(slug);
  return slugLine === undefined ? null : `slug ${slug} belongs to line ${slugLine}`;
}

/** Starts only when there is something to write: lines may arrive slowly, and other writers would wait meanwhile. */
async function takeTurn(
  tx: Transaction,
  { kind, emitEvents }: ImportOptions,
): Promise<SlugAllocator> {
  await lockDirectory(tx, kind);
  if (!emitEvents) await announceNothing(tx);
  return SlugAllocator.start(tx, kind);
}

/** `whole` stands for the entry itself, such as `the line`. */
export function formatIssues(issues: Issue[], whole: string): string {
  return issues
    .map(({ path, message }) => `${path.replace(/^\$\.?/, '') || whole} ${message}`)
    .join('; ');
}

/** Checks rules that a schema cannot express. */
function valueFault({ slug, active, retiredAt, managers }: Input): string | null {
  if (slug !== null && !isAllowedSlug(slug)) return `slug ${slug} is reserved`;
  if (active && retiredAt) return 'retiredAt goes only with active: false';
  try {
    toAddresses(managers ?? []);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.message.replace(':', '');
  }
}

const writers: Record<
  ImportKind,
  (tx: Transaction, inputs: Named[], options: ImportOptions) => Promise<{ created: boolean }[]>
> = {
  async orgs(tx, inputs, { emitEvents, publicUrl }) {
    const written = await upsertOrgs(tx, inputs);
    if (emitEvents) await announceNew(tx, 'orgs', written, publicUrl);
    await writeManagers(tx, 'orgs', inputs);
    return written;
  },
  async alliances(tx, inputs, { emitEvents, publicUrl, later }) {
    const written = await upsertAlliances(tx, inputs);
    const announce = () => announceNew(tx, 'alliances', written, publicUrl);
    if (emitEvents && later) later.push(announce);
    else if (emitEvents) await announce();
    await writeManagers(tx, 'alliances', inputs);
    return written;
  },
  blueprints: (tx, inputs) => upsertBlueprints(tx, inputs),
};

type Input = OrgInput & AllianceInput & BlueprintInput;
type Accepted = { line: number; input: Input };
type Known = Input & { line: number; allianceId: string | null };
type Named = Known & { slug: string };
type Refuse = (line: number, reason: string) => null;

/** Checks against the database lines that have each been checked alone. Returns the valid ones with the ids that they refer to. */
async function checkBatch(
  tx: Transaction,
  kind: SlugTable,
  batch: Accepted[],
  refuse: Refuse,
): Promise<Known[]> {
  return withoutHeldSlugs(tx, kind, await checks[kind](tx, batch, refuse), refuse);
}

const checks: Record<
  SlugTable,
  (tx: Transaction, batch: Accepted[], refuse: Refuse) => Promise<Known[]>
> = {
  orgs: withKnownAlliances,
  alliances: async (_, batch) => batch.map(toKnown),
  blueprints: withFreeSlugs,
};

function toKnown({ line, input }: Accepted): Known {
  return { ...input, line, allianceId: null };
}

/** A blueprint is identified by its key, so a slug in the file may belong to another blueprint. */
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

/**
 * A slug that another entry had recently is refused, because its former owner may take it back. Only blueprints have a
 * key that identifies the former owner.
 */
async function withoutHeldSlugs(
  tx: Transaction,
  kind: SlugTable,
  inputs: Known[],
  refuse: Refuse,
): Promise<Known[]> {
  const held = await reservedSlugs(
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
    else refuse(input.line, describeReservation(input.slug ?? '', hold));
  }
  return free;
}

/** Gives a slug to every input that has none; an existing blueprint keeps its slug. */
async function nameAll(
  tx: Transaction,
  kind: SlugTable,
  slugs: SlugAllocator,
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
  const made = await slugs.allocate(
    inputs.filter((_, index) => chosen[index] === null).map(({ name }) => name),
  );
  return inputs.map((input, index) => ({
    ...input,
    slug: chosen[index] ?? (made.shift() as string),
  }));
}
