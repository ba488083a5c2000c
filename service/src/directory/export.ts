/**
 * Exports organisations, alliances or blueprints as the lines that `import.ts` takes, private fields and managers
 * included. In the order in which they were added, so that an import gives them the same order again.
 */
import { sql, type Transaction } from '../database/database.ts';
import type { ImportKind } from './import.ts';
import type { AllianceInput, BlueprintInput, OrgInput } from './inputs.ts';
import { iso, linksOf } from './rows.ts';

export type ExportedLine = OrgInput | AllianceInput | BlueprintInput;

/** Rows held at once; a blueprint may be some hundred kilobytes. */
const batchSize = 200;

/** Everything of one kind as the caller's transaction sees it, a batch at a time. Read to its end, or left with the transaction. */
export async function* exportLines(
  tx: Transaction,
  kind: ImportKind,
): AsyncGenerator<ExportedLine[]> {
  const { select, toLine } = sources[kind];
  await sql`declare exported no scroll cursor for ${select} order by t.created_at, t.id`.execute(
    tx,
  );
  for (;;) {
    const { rows } =
      await sql<Row>`fetch forward ${sql.raw(String(batchSize))} from exported`.execute(tx);
    if (rows.length === 0) break;
    yield rows.map(toLine);
  }
  await sql`close exported`.execute(tx);
}

// The columns of three tables; each `toLine` names those of its own.
// oxlint-disable-next-line typescript/no-explicit-any
type Row = Record<string, any>;

const sources: Record<
  ImportKind,
  { select: ReturnType<typeof sql>; toLine: (row: Row) => ExportedLine }
> = {
  orgs: {
    select: sql`
      select t.*, a.slug as alliance,
        array(select email from org_managers where org_id = t.id order by email) as managers
      from orgs t left join alliances a on a.id = t.alliance_id
    `,
    toLine: toOrgLine,
  },
  alliances: {
    select: sql`
      select t.*, array(select email from alliance_managers where alliance_id = t.id order by email) as managers
      from alliances t
    `,
    toLine: toAllianceLine,
  },
  blueprints: { select: sql`select t.* from blueprints t`, toLine: toBlueprintLine },
};

function toOrgLine(row: Row): OrgInput {
  return {
    slug: row['slug'],
    name: row['name'],
    tag: row['tag'],
    description: row['description'],
    primaryActivity: row['primary_activity'],
    secondaryActivity: row['secondary_activity'],
    commitment: row['commitment'],
    recruiting: row['recruiting'],
    language: row['language'],
    timezone: row['timezone'],
    location: row['location'],
    memberCount: row['member_count'],
    logoUrl: row['logo_url'],
    bannerUrl: row['banner_url'],
    links: linksOf(row['links']),
    alliance: row['alliance'],
    verified: row['verified'],
    status: row['status'],
    foundedAt: iso(row['founded_at']),
    listed: row['listed'],
    contactEmail: row['contact_email'],
    chatServerId: row['chat_server_id'],
    notes: row['notes'],
    managers: row['managers'],
  };
}

function toAllianceLine(row: Row): AllianceInput {
  return {
    slug: row['slug'],
    name: row['name'],
    tag: row['tag'],
    description: row['description'],
    logoUrl: row['logo_url'],
    bannerUrl: row['banner_url'],
    links: linksOf(row['links']),
    recruiting: row['recruiting'],
    status: row['status'],
    foundedAt: iso(row['founded_at']),
    managers: row['managers'],
  };
}

function toBlueprintLine(row: Row): BlueprintInput {
  return {
    slug: row['slug'],
    key: row['key'],
    name: row['name'],
    description: row['description'],
    category: row['category'],
    output: row['output'],
    craftTimeSeconds: row['craft_time_seconds'],
    ingredients: row['ingredients'],
    sources: row['sources'],
    version: row['version'],
    active: row['active'],
    retiredAt: iso(row['retired_at']),
  };
}
