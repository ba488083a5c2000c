/** Writes one alliance and its members. After a deletion, they belong to no alliance. */
import type { ManagedAllianceDetail } from '../contract/managed.ts';
import { issuesMax } from '../contract/validate.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { upsertAlliances } from './alliances.ts';
import { AllianceInput } from './inputs.ts';
import { readManagedAlliance } from './managed-alliances.ts';
import { pickFields } from './write-entry.ts';
import { managedWrites } from './managed-writes.ts';

/** `orgs` are the slugs of all its members; if left out, the members stay. */
export type AllianceFields = AllianceInput & { orgs?: string[] };

export const {
  put: putAlliance,
  patch: patchAlliance,
  remove: deleteAlliance,
} = managedWrites<ManagedAllianceDetail, AllianceFields>({
  kind: 'alliances',
  read: readManagedAlliance,
  inputOf: (entry) => pickFields(AllianceInput, entry),
  async store(tx, slug, { orgs, ...input }) {
    const written = await upsertAlliances(tx, [{ ...input, slug }]);
    if (orgs) await setMembers(tx, slug, orgs);
    return written;
  },
});

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
