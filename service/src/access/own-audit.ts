/** Reads the audit log of a member's apps, and of deleted apps for their last owners. Operators are not named. */
import { pageOf, sql, type Executor, type LeftJoined } from '../database/database.ts';
import type { PortalAuditEntry } from '../contract/portal.ts';
import { withTextTimes } from '../contract/parse-time.ts';

type Row = Omit<PortalAuditEntry, 'at'> & { at: Date };

/** Returns one page, newest first, and the total. */
export async function listOwnAudit(
  executor: Executor,
  email: string,
  query: { appId?: string | undefined; page: number; limit: number },
): Promise<{ total: number; entries: PortalAuditEntry[] }> {
  const { appId, page, limit } = query;
  const offset = (page - 1) * limit;
  const { rows } = await sql<{ total: number } & LeftJoined<Row>>`
    with own as materialized (
      select apps.id, apps.name, false as deleted from app_members m join apps on apps.id = m.app_id
      where m.email = ${email} and ${appId === undefined ? sql`true` : sql`apps.id = ${appId}`}
      union
      -- A deleted app stays with its last owners.
      select app_id, details->>'name', true from audit_log l
      where action = 'app.deleted' and details->'owners' ? ${email}
        and ${appId === undefined ? sql`true` : sql`app_id = ${appId}`}
        -- Not what an earlier account with this address owned.
        and at >= ${hasAddressSince(email)}
        and not exists (select from apps where id = l.app_id)
    ),
    page as materialized (
      select own.name, own.deleted, l.id from own cross join lateral (
        select at, id from audit_log where app_id = own.id order by at desc, id desc limit ${offset + limit}
      ) l
      order by l.at desc, l.id desc limit ${limit} offset ${offset}
    )
    select totals.total, entries.*
    from (select count(*) as total from own join audit_log l on l.app_id = own.id) totals
    left join (
      select l.id, l.at, json_build_object(
          'kind', l.actor_kind,
          'name', case
            -- Only members change an app in the portal.
            when l.actor_kind = 'user' then l.actor_name
            -- The key may be deleted with its app, but all its log entries name the app.
            when l.actor_kind = 'key' and l.app_id = (
              select app_id from audit_log where subject_id = l.actor_id and subject_kind = 'key' limit 1
            ) then l.actor_name
          end,
          -- Not by the address, which somebody else may have had.
          'isYou', l.actor_kind = 'user' and l.actor_id is not distinct from (select id::text from users where email = ${email})
        ) as actor, l.action, l.app_id as "appId", page.name as "appName", page.deleted as "appDeleted",
        json_build_object('kind', l.subject_kind, 'id', l.subject_id,
          'name', coalesce(l.details->>'host', l.details->>'name', l.details->>'email')) as subject, l.details
      from page join audit_log l on l.id = page.id
    ) entries on true
    order by entries.at desc, entries.id desc
  `.execute(executor);
  const { entries, total } = pageOf<Row>(rows);
  return { total, entries: entries.map((row) => withTextTimes(row)) };
}

/** When the account with this address was created, or its address last changed. Null if there is no account. */
function hasAddressSince(email: string) {
  return sql`(
    select greatest(u.created_at, max(c.at)) from users u left join audit_log c
      on c.subject_kind = 'account' and c.subject_id = u.id::text and c.action = 'account.address_changed'
    where u.email = ${email} group by u.id
  )`;
}
