/** Writes one organisation. */
import type { ManagedOrganisation } from '../contract/managed.ts';
import type { Transaction } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { allianceIds } from './alliances.ts';
import { OrgInput } from './inputs.ts';
import { readManagedOrg } from './managed-orgs.ts';
import { upsertOrgs } from './orgs.ts';
import { pickFields } from './write-entry.ts';
import { managedWrites } from './managed-writes.ts';

export const {
  put: putOrg,
  patch: patchOrg,
  remove: deleteOrg,
} = managedWrites<ManagedOrganisation, OrgInput>({
  kind: 'orgs',
  read: readManagedOrg,
  inputOf({ alliance, ...fields }) {
    return pickFields(OrgInput, { ...fields, alliance: alliance?.slug ?? null });
  },
  async store(tx, slug, input) {
    const allianceId = await requireAlliance(tx, input.alliance);
    return upsertOrgs(tx, [{ ...input, slug, allianceId }]);
  },
});

async function requireAlliance(tx: Transaction, slug: string | null): Promise<string | null> {
  if (slug === null) return null;
  const id = (await allianceIds(tx, [slug])).get(slug);
  if (id === undefined)
    throw invalid({ path: 'body.alliance', message: `there is no alliance ${slug}` });
  return id;
}
