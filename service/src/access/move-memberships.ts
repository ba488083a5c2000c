/**
 * Moves a user's apps to their new address. Manager roles stay with the old address: an organisation gives a role to an
 * address, and only the organisation can say whether the new one may have it. So a binding that the user made ends with
 * the move, unless the new address manages the same organisation or alliance.
 */
import { sql, type Transaction } from '../database/database.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';

type Move = { from: string; to: string };

/** The audit log of each app names both addresses. An app that both addresses are members of gets the higher role. */
export async function moveMemberships(
  tx: Transaction,
  actor: Actor,
  { from, to }: Move,
): Promise<void> {
  await nameActor(tx, actor);
  // A role that keeps a binding must last until the end of the transaction. Before the apps, because whoever ends a role
  // locks it first, and then the binding.
  await sql`select from org_managers where email = ${to} order by org_id for key share`.execute(tx);
  await sql`
    select from alliance_managers where email = ${to} order by alliance_id for key share
  `.execute(tx);
  await sql`
    select from apps where id in (select app_id from app_members where email = ${from}) order by id for update
  `.execute(tx);
  await sql`
    insert into app_members as m (app_id, email, role, failure_mails, created_at)
    select app_id, ${to}, role, failure_mails, created_at from app_members where email = ${from} order by app_id
    on conflict (app_id, email) do update set role = excluded.role
    where array_position(${rolesByRights}, excluded.role) < array_position(${rolesByRights}, m.role)
  `.execute(tx);
  await sql`
    delete from app_invitations
    where email = ${to} and app_id in (select app_id from app_members where email = ${to})
  `.execute(tx);
  await sql`
    update bindings b set owner_email = ${to} where ${isOwnedBy(from)} and ${isManagedBy(to)}
  `.execute(tx);
  await sql`
    update app_invitations set invited_by = ${to} where invited_by = ${from}
  `.execute(tx);
  // What still depends on the old address ends by foreign key.
  await sql`delete from app_members where email = ${from}`.execute(tx);
}

const rolesByRights = sql`array['owner', 'developer', 'viewer']`;

/** Whether this address made the binding `b`. Found by its apps, because no index leads to bindings by their owner. */
export function isOwnedBy(email: string) {
  return sql`(b.app_id in (select app_id from app_members where email = ${email}) and b.owner_email = ${email})`;
}

/** Whether this address manages what the binding `b` binds to. */
export function isManagedBy(email: string) {
  return sql`(
    exists (select from org_managers m where m.org_id = b.org_id and m.email = ${email})
    or exists (select from alliance_managers m where m.alliance_id = b.alliance_id and m.email = ${email})
  )`;
}
