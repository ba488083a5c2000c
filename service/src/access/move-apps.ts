/**
 * Moves the apps of a user to their new address. Manager roles stay with the old address: an organisation gives a role to
 * an address, and only the organisation can say whether the new one may have it. So a binding ends with the move unless
 * the new address manages the same organisation or alliance.
 */
import { sql, type Executor, type Transaction } from '../database/database.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import type { Subject } from './managers.ts';

type Move = { from: string; to: string };
export type EndingBinding = {
  app: { id: string; name: string };
  subject: Subject & { slug: string; name: string };
};

export async function moveApps(tx: Transaction, actor: Actor, { from, to }: Move): Promise<void> {
  await nameActor(tx, actor);
  // A role that keeps a binding must last until the end of the transaction.
  await sql`select from org_managers where email = ${to} for key share`.execute(tx);
  await sql`select from alliance_managers where email = ${to} for key share`.execute(tx);
  await sql`delete from bindings b where b.owner_email = ${from} and not ${staysWith(to)}`.execute(
    tx,
  );
  // In one statement, because a binding refers to its app's owner.
  await sql`
    with moved as (update apps set owner_email = ${to} where owner_email = ${from})
    update bindings set owner_email = ${to} where owner_email = ${from}
  `.execute(tx);
}

/** The bindings that `moveApps` would end. An owner has at most ten apps. */
export async function listEndingBindings(
  executor: Executor,
  { from, to }: Move,
): Promise<EndingBinding[]> {
  const { rows } = await sql<EndingBinding>`
    select jsonb_build_object('id', a.id, 'name', a.name) as app,
      jsonb_build_object('kind', case when b.org_id is null then 'alliance' else 'organization' end,
        'id', coalesce(o.id, l.id), 'slug', coalesce(o.slug, l.slug), 'name', coalesce(o.name, l.name)) as subject
    from bindings b join apps a on a.id = b.app_id
    left join orgs o on o.id = b.org_id left join alliances l on l.id = b.alliance_id
    where b.owner_email = ${from} and not ${staysWith(to)} order by a.id
  `.execute(executor);
  return rows;
}

/** Whether this address manages what `b` binds to. */
function staysWith(email: string) {
  return sql`(
    exists (select from org_managers m where m.org_id = b.org_id and m.email = ${email})
    or exists (select from alliance_managers m where m.alliance_id = b.alliance_id and m.email = ${email})
  )`;
}
