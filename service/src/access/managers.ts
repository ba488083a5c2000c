/** Managers of organisations and alliances, by email address. Whoever stops being one loses the bindings too. */
import { sql, type Transaction } from '../database/database.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import { normaliseEmail } from './email.ts';

export type Subject = { kind: 'organization' | 'alliance'; id: string };

/** Makes an address a manager. Returns false where it was one. */
export async function addManager(
  tx: Transaction,
  actor: Actor,
  subject: Subject,
  email: string,
): Promise<boolean> {
  const { table, column } = storage(subject);
  await nameActor(tx, actor);
  const { rows } = await sql`
    insert into ${sql.table(table)} (${sql.ref(column)}, email) values (${subject.id}, ${normaliseEmail(email)})
    on conflict do nothing returning 1
  `.execute(tx);
  return rows.length > 0;
}

/** Ends the role, and with it every binding that stood on it. Returns false where there was no such role. */
export async function removeManager(
  tx: Transaction,
  actor: Actor,
  subject: Subject,
  email: string,
): Promise<boolean> {
  const { table, column } = storage(subject);
  await nameActor(tx, actor);
  const { rows } = await sql`
    delete from ${sql.table(table)} where ${sql.ref(column)} = ${subject.id} and email = ${normaliseEmail(email)}
    returning 1
  `.execute(tx);
  return rows.length > 0;
}

function storage(subject: Subject) {
  return subject.kind === 'organization'
    ? { table: 'org_managers', column: 'org_id' }
    : { table: 'alliance_managers', column: 'alliance_id' };
}
