/**
 * Writes one organisation: creates or replaces it, patches it, deletes it. Each function runs in the caller's
 * transaction.
 */
import { nameActor } from '../access/audit-log.ts';
import type { ManagedOrganisation } from '../contract/managed.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { withFormerName } from './aliases.ts';
import { allianceIds } from './alliances.ts';
import { announceOrgs } from './announce.ts';
import { writeManagers } from './import-managers.ts';
import { OrgInput } from './inputs.ts';
import { lockDirectory } from './lock-directory.ts';
import { readManagedOrg } from './managed-orgs.ts';
import { upsertOrgs } from './orgs.ts';
import {
  type WriteOptions,
  type Written,
  pickFields,
  rename,
  requireFreeSlug,
} from './write-entry.ts';

type Options = WriteOptions<ManagedOrganisation>;

/**
 * Creates the organisation, or replaces all its fields; `managers` and `aliases` stay if left out. Throws `conflict`,
 * `validation_failed`.
 */
export async function putOrg(
  tx: Transaction,
  slug: string,
  input: OrgInput,
  options: Options,
): Promise<Written<ManagedOrganisation>> {
  const before = await lockOrg(tx, slug, options);
  if (!before) await requireFreeSlug(tx, 'orgs', slug, null, 'params.slug');
  const kept = withFormerName(input, before, options);
  return { created: !before, entry: await write(tx, slug, kept, options) };
}

/** Changes the given fields; a new `slug` renames it. Throws `not_found`, `conflict`, `validation_failed`. */
export async function patchOrg(
  tx: Transaction,
  slug: string,
  changes: Partial<OrgInput>,
  options: Options,
): Promise<ManagedOrganisation> {
  const before = await lockOrg(tx, slug, options);
  if (!before) throw new ServiceError('not_found');
  const next = changes.slug ?? slug;
  if (next !== slug) await rename(tx, 'orgs', before.id, next);
  const links = { ...before.links, ...changes.links };
  const input = withFormerName({ ...toInput(before), ...changes, links }, before, options);
  return write(tx, next, input, options);
}

/** Deletes it with its managers and the bindings of apps to it. Throws `not_found`. */
export async function deleteOrg(tx: Transaction, slug: string, options: Options): Promise<string> {
  const before = await lockOrg(tx, slug, options);
  if (!before) throw new ServiceError('not_found');
  await nameActor(tx, options.actor);
  await sql`delete from orgs where id = ${before.id}`.execute(tx);
  return before.id;
}

/** Reads the organisation and locks it until the transaction ends. */
async function lockOrg(
  tx: Transaction,
  slug: string,
  { publicUrl, check }: Options,
): Promise<ManagedOrganisation | null> {
  await lockDirectory(tx, 'orgs');
  await sql`select from orgs where slug = ${slug} for update`.execute(tx);
  const before = await readManagedOrg(tx, slug, publicUrl);
  check(before);
  return before;
}

async function write(
  tx: Transaction,
  slug: string,
  input: OrgInput,
  { actor, publicUrl }: Options,
): Promise<ManagedOrganisation> {
  const allianceId = await requireAlliance(tx, input.alliance);
  const written = await upsertOrgs(tx, [{ ...input, slug, allianceId }]);
  await nameActor(tx, actor);
  await writeManagers(tx, 'orgs', [{ ...input, slug }]);
  await announceOrgs(tx, written, publicUrl);
  const entry = await readManagedOrg(tx, slug, publicUrl);
  if (!entry) throw new Error('the organisation that was written is not there');
  return entry;
}

async function requireAlliance(tx: Transaction, slug: string | null): Promise<string | null> {
  if (slug === null) return null;
  const id = (await allianceIds(tx, [slug])).get(slug);
  if (id === undefined)
    throw invalid({ path: 'body.alliance', message: `there is no alliance ${slug}` });
  return id;
}

/** Leaves out the managers, so that they stay. */
function toInput(before: ManagedOrganisation): OrgInput {
  const { alliance, managers: _, ...fields } = before;
  return pickFields(OrgInput, { ...fields, alliance: alliance?.slug ?? null });
}
