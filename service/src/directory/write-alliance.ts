/**
 * Writes one alliance and its members: creates or replaces it, patches it, deletes it. Each function runs in the
 * caller's transaction.
 */
import { nameActor } from '../access/audit-log.ts';
import type { ManagedAllianceDetail } from '../contract/managed.ts';
import { issuesMax } from '../contract/validate.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { withFormerName } from './aliases.ts';
import { upsertAlliances } from './alliances.ts';
import { announceAlliances } from './announce.ts';
import { writeManagers } from './import-managers.ts';
import { AllianceInput } from './inputs.ts';
import { lockDirectory } from './lock-directory.ts';
import { readManagedAlliance } from './managed-alliances.ts';
import {
  type WriteOptions,
  type Written,
  pickFields,
  rename,
  requireFreeSlug,
} from './write-entry.ts';

type Options = WriteOptions<ManagedAllianceDetail>;

/** `orgs` are the slugs of all its members; if left out, the members stay. */
export type AllianceFields = AllianceInput & { orgs?: string[] };

/**
 * Creates the alliance, or replaces all its fields; `managers`, `aliases` and `orgs` stay if left out. Throws `conflict`,
 * `validation_failed`.
 */
export async function putAlliance(
  tx: Transaction,
  slug: string,
  input: AllianceFields,
  options: Options,
): Promise<Written<ManagedAllianceDetail>> {
  const before = await lockAlliance(tx, slug, options);
  if (!before) await requireFreeSlug(tx, 'alliances', slug, null, 'params.slug');
  const kept = withFormerName(input, before, options);
  return { created: !before, entry: await write(tx, slug, kept, options) };
}

/** Changes the given fields; a new `slug` renames it. Throws `not_found`, `conflict`, `validation_failed`. */
export async function patchAlliance(
  tx: Transaction,
  slug: string,
  changes: Partial<AllianceFields>,
  options: Options,
): Promise<ManagedAllianceDetail> {
  const before = await lockAlliance(tx, slug, options);
  if (!before) throw new ServiceError('not_found');
  const next = changes.slug ?? slug;
  if (next !== slug) await rename(tx, 'alliances', before.id, next);
  const links = { ...before.links, ...changes.links };
  // Left out, so that the managers stay.
  const { managers: _, ...fields } = pickFields(AllianceInput, before);
  const input = withFormerName({ ...fields, ...changes, links }, before, options);
  return write(tx, next, input, options);
}

/** Deletes it; its members then belong to no alliance. Throws `not_found`. */
export async function deleteAlliance(
  tx: Transaction,
  slug: string,
  options: Options,
): Promise<string> {
  const before = await lockAlliance(tx, slug, options);
  if (!before) throw new ServiceError('not_found');
  await nameActor(tx, options.actor);
  await sql`delete from alliances where id = ${before.id}`.execute(tx);
  return before.id;
}

/** Reads the alliance and locks it with its members until the transaction ends. */
async function lockAlliance(
  tx: Transaction,
  slug: string,
  { publicUrl, check }: Options,
): Promise<ManagedAllianceDetail | null> {
  await lockDirectory(tx, 'orgs');
  await sql`select from alliances where slug = ${slug} for update`.execute(tx);
  const before = await readManagedAlliance(tx, slug, publicUrl);
  check(before);
  return before;
}

async function write(
  tx: Transaction,
  slug: string,
  { orgs, ...input }: AllianceFields,
  { actor, publicUrl }: Options,
): Promise<ManagedAllianceDetail> {
  const written = await upsertAlliances(tx, [{ ...input, slug }]);
  if (orgs) await setMembers(tx, slug, orgs);
  await nameActor(tx, actor);
  await writeManagers(tx, 'alliances', [{ ...input, slug }]);
  await announceAlliances(tx, written, publicUrl);
  const entry = await readManagedAlliance(tx, slug, publicUrl);
  if (!entry) throw new Error('the alliance that was written is not there');
  return entry;
}

/** Replaces the members. An organisation that was in another alliance leaves it. */
async function setMembers(tx: Transaction, alliance: string, orgs: string[]): Promise<void> {
  const { rows } = await sql<{ slug: string }>`
    select slug from orgs where slug = any(${orgs}::text[])
  `.execute(tx);
  const known = new Set(rows.map(({ slug }) => slug));
  const issues = orgs.flatMap((slug, index) =>
    known.has(slug)
      ? []
      : [{ path: `body.orgs.${index}`, message: `there is no organisation ${slug}` }],
  );
  if (issues.length > 0) throw invalid(...issues.slice(0, issuesMax));
  const id = sql`(select id from alliances where slug = ${alliance})`;
  // Two conditions that each have an index.
  await sql`
    update orgs set alliance_id = case when slug = any(${orgs}::text[]) then ${id} end
    where alliance_id = ${id} and slug <> all(${orgs}::text[])
      or slug = any(${orgs}::text[]) and alliance_id is distinct from ${id}
  `.execute(tx);
}
