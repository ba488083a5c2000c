/**
 * Writes one blueprint, identified by its key: creates or replaces it, patches it, deletes it. Each function runs in
 * the caller's transaction.
 */
import type { Blueprint } from '../contract/blueprint.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { findBlueprint, upsertBlueprints } from './blueprints.ts';
import { BlueprintInput } from './inputs.ts';
import { lockDirectory } from './lock-directory.ts';
import { type WriteOptions, type Written, pickFields, requireFreeSlug } from './write-entry.ts';
import { SlugAllocator } from './slug.ts';

type Options = Pick<WriteOptions<Blueprint>, 'check'>;

/** Creates or replaces the blueprint; without a `slug` it keeps its own. Throws `conflict`, `validation_failed`. */
export async function putBlueprint(
  tx: Transaction,
  input: BlueprintInput,
  options: Options,
): Promise<Written<Blueprint>> {
  const before = await lockBlueprint(tx, input.key, options);
  return { created: !before, entry: await write(tx, input, before) };
}

/** Changes the given fields. Throws `not_found`, `conflict`, `validation_failed`. */
export async function patchBlueprint(
  tx: Transaction,
  key: string,
  changes: Partial<BlueprintInput>,
  options: Options,
): Promise<Blueprint> {
  const before = await lockBlueprint(tx, key, options);
  if (!before) throw new ServiceError('not_found');
  const fields = { ...pickFields(BlueprintInput, before), retiredAt: null };
  return write(tx, { ...fields, ...changes, key }, before);
}

/** Deletes it. Throws `not_found`. */
export async function deleteBlueprint(
  tx: Transaction,
  key: string,
  options: Options,
): Promise<string> {
  const before = await lockBlueprint(tx, key, options);
  if (!before) throw new ServiceError('not_found');
  await sql`delete from blueprints where id = ${before.id}`.execute(tx);
  return before.id;
}

/** Reads the blueprint and locks it until the transaction ends. */
async function lockBlueprint(
  tx: Transaction,
  key: string,
  { check }: Options,
): Promise<Blueprint | null> {
  await lockDirectory(tx, 'blueprints');
  await sql`select from blueprints where key = ${key} for update`.execute(tx);
  const before = await findBlueprint(tx, key);
  check(before);
  return before;
}

async function write(
  tx: Transaction,
  input: BlueprintInput,
  before: Blueprint | null,
): Promise<Blueprint> {
  if (input.active && input.retiredAt !== null)
    throw invalid({ path: 'body.retiredAt', message: 'goes only with active: false' });
  const slug = await chooseSlug(tx, input, before);
  await upsertBlueprints(tx, [{ ...input, slug }]);
  const entry = await findBlueprint(tx, input.key);
  if (!entry) throw new Error('the blueprint that was written is not there');
  return entry;
}

async function chooseSlug(
  tx: Transaction,
  { slug, name }: BlueprintInput,
  before: Blueprint | null,
): Promise<string> {
  if (slug !== null && slug !== before?.slug)
    await requireFreeSlug(tx, 'blueprints', slug, before?.id ?? null);
  const chosen = slug ?? before?.slug;
  if (chosen !== undefined) return chosen;
  const [made] = await (await SlugAllocator.start(tx, 'blueprints')).allocate([name]);
  if (made === undefined) throw new Error('no slug was made');
  return made;
}
