/**
 * Ends the memberships of a user who deletes their account. An app without another owner is deleted with it, so the user
 * agrees to each of these, or transfers it first. A suspended one stays, and the address stays its owner: nobody ends a
 * suspension by deleting what is suspended. Manager roles stay too: only the organisation or alliance ends them.
 */
import { isManagedBy, isOwnedBy } from './move-memberships.ts';
import type { AppToDelete, AppToLeave, EndingBinding } from '../contract/account.ts';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { deleteApp } from './apps.ts';
import { nameActor } from './audit-log.ts';
import { usedOf } from './quotas.ts';

/** Counting more would take long; the page shows it as "10,000 or more". */
const pendingCountMax = 10_000;

/** The apps without another owner, except suspended ones. An owner has at most ten. */
export async function listAppsToDelete(executor: Executor, email: string): Promise<AppToDelete[]> {
  const { rows } = await sql<AppToDelete>`
    select a.id, a.name,
      ${usedOf.keys(sql`a.id`)} as "keyCount", ${usedOf.webhooks(sql`a.id`)} as "webhookCount",
      (
        select count(*) from (
          select from webhooks w join pending_deliveries p on p.webhook_id = w.id
          where w.app_id = a.id limit ${pendingCountMax}
        ) pending
      ) as "pendingDeliveryCount",
      (select count(*) from app_members m where m.app_id = a.id and m.email <> ${email}) as "otherMemberCount"
    from apps a where a.id in (${deletedWith(email)}) order by a.id
  `.execute(executor);
  return rows;
}

/** The apps that stay: with another owner, or suspended. */
export async function listAppsToLeave(executor: Executor, email: string): Promise<AppToLeave[]> {
  const { rows } = await sql<AppToLeave>`
    select a.id, a.name, m.role from app_members m join apps a on a.id = m.app_id
    where m.email = ${email} and a.id not in (${deletedWith(email)}) order by a.id
  `.execute(executor);
  return rows;
}

/** `agreed`: the ids of the apps to delete. Throws `conflict` if these are not exactly those that are deleted. */
export async function leaveApps(
  tx: Transaction,
  actor: Actor,
  email: string,
  agreed: string[],
): Promise<void> {
  // Locks all webhooks in the workers' order, and before the apps, as `deleteApp` does for one app.
  await sql`select from webhooks where app_id = any(${agreed}::uuid[]) order by id for update`.execute(
    tx,
  );
  await sql`
    select from apps where id in (select app_id from app_members where email = ${email}) order by id for update
  `.execute(tx);
  const { rows } = await sql<{ id: string }>`${deletedWith(email)} order by app_id`.execute(tx);
  const ids = rows.map(({ id }) => id);
  const isAgreed = new Set(agreed.map((id) => id.toLowerCase()));
  if (ids.length !== agreed.length || !ids.every((id) => isAgreed.has(id)))
    throw new ServiceError(
      'conflict',
      'The apps that would be deleted have changed. Check them and confirm again.',
    );
  for (const id of ids) await deleteApp(tx, actor, id);
  await nameActor(tx, actor);
  await sql`
    delete from app_members where email = ${email} and app_id not in (${keptBy(email)})
  `.execute(tx);
  await sql`delete from app_invitations where email = ${email}`.execute(tx);
}

/** The ids of the apps that are deleted with the account of this address. */
function deletedWith(email: string) {
  return sql`${lastOwned(email)} and m.app_id not in (select app_id from suspensions where app_id is not null)`;
}

/** The ids of the suspended apps that it still owns afterwards. */
function keptBy(email: string) {
  return sql`${lastOwned(email)} and m.app_id in (select app_id from suspensions)`;
}

/** The ids of the apps of which this address is the only owner. */
function lastOwned(email: string) {
  return sql`
    select m.app_id as id from app_members m
    where m.email = ${email} and m.role = 'owner' and not exists (
      select from app_members other where other.app_id = m.app_id and other.role = 'owner' and other.email <> m.email
    )
  `;
}

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
