import type { EndingBinding } from '../contract/account.ts';
import { sql, type Executor } from '../database/database.ts';
import { keptBy } from './leave-apps.ts';
import { isManagedBy, isOwnedBy } from './move-memberships.ts';

/** The bindings of a user that end when their address becomes `to`, or with their account if it is null. */
export async function listEndingBindings(
  executor: Executor,
  { from, to }: { from: string; to: string | null },
): Promise<EndingBinding[]> {
  const { rows } = await sql<EndingBinding>`
    select a.id as "appId", a.name as "appName", case when b.org_id is null then 'alliance' else 'organization' end as kind,
      coalesce(o.slug, l.slug) as slug, coalesce(o.name, l.name) as name
    from bindings b join apps a on a.id = b.app_id
    left join orgs o on o.id = b.org_id left join alliances l on l.id = b.alliance_id
    where ${isOwnedBy(from)} and ${to === null ? sql`a.id not in (${keptBy(from)})` : sql`not ${isManagedBy(to)}`} order by a.id
  `.execute(executor);
  return rows;
}
