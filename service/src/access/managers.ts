/** Managers of organisations and alliances, by email address. A manager who loses the role loses its bindings too. */
import { sql, type Transaction } from '../database/database.ts';
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

export function managerStorage(subject: Subject) {
  return subject.kind === 'organization'
    ? { table: 'org_managers', column: 'org_id', subjects: 'orgs' }
    : { table: 'alliance_managers', column: 'alliance_id', subjects: 'alliances' };
}
