/**
 * Updates the managers of imported organisations or alliances. It only adds and removes differences, so that managers
 * who stay keep their bindings.
 */
import { normaliseEmail } from '../access/email.ts';
import { sql, type Transaction } from '../database/database.ts';

type ManagedLine = { slug: string; managers?: string[] };

export type ManagedKind = 'orgs' | 'alliances';

export const managerTables = {
  orgs: { table: 'org_managers', column: 'org_id' },
  alliances: { table: 'alliance_managers', column: 'alliance_id' },
} as const;

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
