/**
 * Reads apps for their owner in the portal: with the name of the organisation or alliance each is bound to, and counts
 * of keys and webhooks.
 */
import { sql, type Executor } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Subject } from './managers.ts';

export type OwnApp = {
  id: string;
  name: string;
  createdAt: Date;
  /** Usable keys; revoked and expired ones are not counted. */
  keyCount: number;
  webhookCount: number;
  binding: (Subject & { slug: string; name: string }) | null;
};

/** Returns one owner's apps, oldest first; none for an unknown owner. An owner has at most ten. */
export async function listOwnApps(executor: Executor, owner: string): Promise<OwnApp[]> {
  const { rows } = await sql<OwnApp>`
    ${ownApps} where apps.owner_email = ${owner} order by apps.id
  `.execute(executor);
  return rows;
}

/** Throws `not_found`, also for another owner's app. */
export async function readOwnApp(executor: Executor, owner: string, id: string): Promise<OwnApp> {
  const { rows } = await sql<OwnApp>`
    ${ownApps} where apps.owner_email = ${owner} and apps.id = ${id}
  `.execute(executor);
  const [app] = rows;
  if (!app) throw new ServiceError('not_found');
  return app;
}

const ownApps = sql`
  select apps.id, apps.name, apps.created_at as "createdAt",
    (
      select count(*) from api_keys k
      where k.app_id = apps.id and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    ) as "keyCount",
    (select count(*) from webhooks w where w.app_id = apps.id) as "webhookCount",
    case
      when o.id is not null then jsonb_build_object('kind', 'organization', 'id', o.id, 'slug', o.slug, 'name', o.name)
      when a.id is not null then jsonb_build_object('kind', 'alliance', 'id', a.id, 'slug', a.slug, 'name', a.name)
    end as binding
  from apps
  left join bindings b on b.app_id = apps.id
  left join orgs o on o.id = b.org_id
  left join alliances a on a.id = b.alliance_id
`;
