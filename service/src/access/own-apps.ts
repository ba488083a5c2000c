/**
 * Reads apps for a member in the portal: with the member's role, the name of the organisation or alliance each is bound
 * to, and counts of keys and webhooks.
 */
import type { AppRole } from '../contract/app-roles.ts';
import type { AppQuotas } from '../contract/portal.ts';
import { sql, type Executor } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Subject } from './managers.ts';
import { quotasOf, usedOf } from './quotas.ts';
import { suspensionOf } from './suspensions.ts';

export type OwnApp = {
  id: string;
  name: string;
  createdAt: Date;
  /** The member's. */
  role: AppRole;
  /** Whether the member is the only owner. */
  isLastOwner: boolean;
  /** Whether the member wants mail about failing webhooks. */
  failureMails: boolean;
  /** Usable keys: those that count towards the quota. */
  keyCount: number;
  webhookCount: number;
  quotas: AppQuotas;
  suspendedAt: Date | null;
  suspendedReason: string | null;
  binding: (Subject & { slug: string; name: string; boundBy: string }) | null;
};

/** Returns the apps of which somebody is a member, oldest first: at most 100. */
export async function listOwnApps(executor: Executor, email: string): Promise<OwnApp[]> {
  const { rows } = await sql<OwnApp>`
    ${ownApps} where m.email = ${email} order by apps.id
  `.execute(executor);
  return rows;
}

/** Throws `not_found`, also for those who are no members. */
export async function readOwnApp(executor: Executor, email: string, id: string): Promise<OwnApp> {
  const { rows } = await sql<OwnApp>`
    ${ownApps} where m.email = ${email} and apps.id = ${id}
  `.execute(executor);
  const [app] = rows;
  if (!app) throw new ServiceError('not_found');
  return app;
}

const ownApps = sql`
  select apps.id, apps.name, apps.created_at as "createdAt", m.role, m.failure_mails as "failureMails",
    m.role = 'owner' and not exists (
      select from app_members other where other.app_id = apps.id and other.role = 'owner' and other.email <> m.email
    ) as "isLastOwner",
    ${usedOf.keys(sql`apps.id`)} as "keyCount", ${usedOf.webhooks(sql`apps.id`)} as "webhookCount",
    ${quotasOf(sql`apps.id`)} as quotas,
    s."suspendedAt", s."suspendedReason",
    case
      when o.id is not null then jsonb_build_object('kind', 'organization', 'id', o.id, 'slug', o.slug, 'name', o.name, 'boundBy', b.owner_email)
      when a.id is not null then jsonb_build_object('kind', 'alliance', 'id', a.id, 'slug', a.slug, 'name', a.name, 'boundBy', b.owner_email)
    end as binding
  from app_members m join apps on apps.id = m.app_id
  left join bindings b on b.app_id = apps.id
  left join orgs o on o.id = b.org_id
  left join alliances a on a.id = b.alliance_id
  left join lateral ${suspensionOf('app', sql`apps.id`)} s on true
`;
