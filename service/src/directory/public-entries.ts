/** How the public sees the entries of each kind, for reads that are the same for all kinds. */
import type { Scope } from '../database/revisions.ts';
import { allianceSource, toAlliance, type AllianceRow } from './alliances.ts';
import { blueprintSource, toBlueprint } from './blueprints.ts';
import type { Sql } from './list.ts';
import type { SlugTable } from './lock-directory.ts';
import { orgSource, toOrganisation, type OrgRow } from './orgs.ts';
import type { Row } from './rows.ts';

type PublicEntries = {
  scope: Scope;
  /** What every row must meet, over the alias `t`. */
  always: Sql;
  /** Over `t` and the joins. */
  columns: Sql;
  joins: Sql;
  /** `baseUrl` goes into `url`. */
  toEntry: (row: Row, baseUrl: string) => object;
};

export const publicEntries: Record<SlugTable, PublicEntries> = {
  orgs: { ...orgSource, toEntry: (row, baseUrl) => toOrganisation(row as OrgRow, baseUrl) },
  alliances: {
    ...allianceSource,
    toEntry: (row, baseUrl) => toAlliance(row as AllianceRow, baseUrl),
  },
  blueprints: { ...blueprintSource, toEntry: toBlueprint },
};
