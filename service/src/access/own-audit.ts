/** The audit log of somebody's own apps. Who acts on behalf of the service is not named to them. */
import { sql, type Executor } from '../database/database.ts';
import type { PortalAuditEntry } from '../contract/portal.ts';

type Row = Omit<PortalAuditEntry, 'at' | 'actor' | 'subject'> & {
  at: Date;
  actor_kind: PortalAuditEntry['actor']['kind'];
  actor_name: string | null;
  subject_kind: string;
  subject_id: string | null;
  key_name: string | null;
  webhook_url: string | null;
  total: number;
};

/** One page, newest first, and how many there are. */
export async function listOwnAudit(
  executor: Executor,
  owner: string,
  query: { appId?: string | undefined; page: number; limit: number },
): Promise<{ total: number; entries: PortalAuditEntry[] }> {
  const own = sql`
    from audit_log l join apps a on a.id = l.app_id
    where a.owner_email = ${owner} and ${query.appId === undefined ? sql`true` : sql`a.id = ${query.appId}`}
  `;
  const { rows } = await sql<Row>`
    select totals.total, page.* from (select count(*) as total ${own}) totals
    left join lateral (
      select l.id, l.at, l.action, l.app_id as "appId", l.actor_kind, l.subject_kind, l.subject_id, l.details,
        case
          when l.actor_kind = 'user' and l.actor_name = ${owner} then l.actor_name
          when l.actor_kind = 'key'
            and exists (select from api_keys k where k.id::text = l.actor_id and k.app_id = l.app_id) then l.actor_name
        end as actor_name,
        -- One look by primary key for each entry of the page.
        case l.subject_kind when 'key' then
          (select k.name from api_keys k where k.id = l.subject_id::uuid and k.app_id = l.app_id)
        end as key_name,
        case l.subject_kind when 'webhook' then
          (select w.url from webhooks w where w.id = l.subject_id::uuid and w.app_id = l.app_id)
        end as webhook_url
      ${own}
      order by l.at desc, l.id desc limit ${query.limit} offset ${(query.page - 1) * query.limit}
    ) page on true
    order by page.at desc, page.id desc
  `.execute(executor);
  const found = rows.filter((row) => row.id !== null);
  return { total: rows[0]?.total ?? 0, entries: found.map(toEntry) };
}

function toEntry(row: Row): PortalAuditEntry {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: { kind: row.actor_kind, name: row.actor_name },
    action: row.action,
    appId: row.appId,
    subject: { kind: row.subject_kind, id: row.subject_id, name: nameOf(row) },
    details: row.details,
  };
}

/** Of an address its host alone, as everywhere in the log. */
function nameOf({ key_name: keyName, webhook_url: url }: Row): string | null {
  return url === null ? keyName : (URL.parse(url)?.host ?? null);
}
