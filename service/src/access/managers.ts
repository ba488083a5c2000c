/**
 * Managers of organisations and alliances, by email address. A manager who loses the role loses its bindings too, so lists of
 * managers are replaced by adding and removing the differences.
 */
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import { normaliseEmail } from './email.ts';

export type Subject = { kind: 'organization' | 'alliance'; id: string };

/** Returns false if the address already is a manager. Throws `not_found`. */
export async function addManager(
  tx: Transaction,
  actor: Actor,
  subject: Subject,
  email: string,
): Promise<boolean> {
  const { table, column, subjects } = managerStorage(subject);
  await nameActor(tx, actor);
  // Waits for a concurrent deletion.
  const found = await sql`
    select from ${sql.table(subjects)} where id = ${subject.id} for key share
  `.execute(tx);
  if (found.rows.length === 0)
    throw new ServiceError('not_found', 'The organisation or alliance no longer exists.');
  const { rows } = await sql`
    insert into ${sql.table(table)} (${sql.ref(column)}, email) values (${subject.id}, ${normaliseEmail(email)})
    on conflict do nothing returning 1
  `.execute(tx);
  return rows.length > 0;
}

/** Ends the role and every binding that depends on it. Returns false if there is no such role. */
export async function removeManager(
  tx: Transaction,
  actor: Actor,
  subject: Subject,
  email: string,
): Promise<boolean> {
  const { table, column } = managerStorage(subject);
  await nameActor(tx, actor);
  const { rows } = await sql`
    delete from ${sql.table(table)} where ${sql.ref(column)} = ${subject.id} and email = ${normaliseEmail(email)}
    returning 1
  `.execute(tx);
  return rows.length > 0;
}

export type ManagedKind = 'orgs' | 'alliances';

export const managerTables = {
  orgs: { table: 'org_managers', column: 'org_id' },
  alliances: { table: 'alliance_managers', column: 'alliance_id' },
} as const;

export function managerStorage({ kind }: Subject) {
  const subjects = kind === 'organization' ? 'orgs' : 'alliances';
  return { ...managerTables[subjects], subjects };
}

export type Managers = { managers: string[] };

/** Their addresses in order, or null if there is no such entry. */
export async function readManagers(
  executor: Executor,
  kind: ManagedKind,
  slug: string,
): Promise<Managers | null> {
  const { table, column } = managerTables[kind];
  const { rows } = await sql<Managers>`
    select array(
      select m.email from ${sql.table(table)} m where m.${sql.ref(column)} = t.id order by m.email
    ) as managers
    from ${sql.table(kind)} t where t.slug = ${slug}
  `.execute(executor);
  return rows[0] ?? null;
}

/** Replaces the list of managers. Throws `not_found`, `validation_failed`. */
export async function replaceManagers(
  tx: Transaction,
  kind: ManagedKind,
  slug: string,
  managers: string[],
  { actor, check }: { actor: Actor; check: (current: Managers | null) => void },
): Promise<Managers> {
  // The lock also blocks new managers, because their rows refer to this one.
  await sql`select from ${sql.table(kind)} where slug = ${slug} for update`.execute(tx);
  const before = await readManagers(tx, kind, slug);
  check(before);
  if (!before) throw new ServiceError('not_found');
  await nameActor(tx, actor);
  await writeManagers(tx, kind, [{ slug, managers }]);
  const after = await readManagers(tx, kind, slug);
  if (!after) throw new Error('the entry whose managers were written is not there');
  return after;
}

type ManagedLine = { slug: string; managers?: string[] };

/** Every slug must exist by now. A line without `managers` changes nothing. */
export async function writeManagers(
  tx: Transaction,
  kind: ManagedKind,
  lines: ManagedLine[],
): Promise<void> {
  const named = lines.filter(({ managers }) => managers !== undefined);
  if (named.length === 0) return;
  const table = sql.table(managerTables[kind].table);
  const column = sql.ref(managerTables[kind].column);
  const slugs = named.map(({ slug }) => slug);
  const wanted = sql`
    select t.id, g.email
    from jsonb_to_recordset(${JSON.stringify(named.flatMap(toRoles))}::jsonb) as g(slug text, email text)
    join ${sql.table(kind)} t on t.slug = g.slug
  `;
  await sql`
    delete from ${table} m using ${sql.table(kind)} t
    where t.id = m.${column} and t.slug = any(${slugs}::text[])
      and (m.${column}, m.email) not in (${wanted})
  `.execute(tx);
  await sql`
    insert into ${table} (${column}, email) ${wanted} order by t.id, g.email on conflict do nothing
  `.execute(tx);
}

function toRoles({ slug, managers = [] }: ManagedLine): { slug: string; email: string }[] {
  // An import has validated its lines before, so this fault comes from a request body.
  return [...toAddresses(managers, 'body.managers')].map((email) => ({ slug, email }));
}

/** Removes duplicates. Throws `validation_failed` for a malformed address. */
export function toAddresses(managers: string[], path = 'managers'): Set<string> {
  return new Set(managers.map((email, index) => normaliseEmail(email, `${path}.${index}`)));
}
