/**
 * Reads and replaces the managers of one organisation or alliance. It only adds and removes differences, so that
 * managers who stay keep their bindings.
 */
import type { Actor } from '../access/actor.ts';
import { nameActor } from '../access/audit-log.ts';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { managerTables, writeManagers, type ManagedKind } from './import-managers.ts';

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
