/**
 * Binds apps to organisations and alliances. A binding depends on the member who made it: foreign keys end it when they
 * stop being a manager there, or are removed from the app, and a trigger when they stop being an owner of the app.
 */
import { sql, violatedConstraint, type Transaction, asUuid } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import { managerStorage, type Subject } from './managers.ts';

/**
 * Binds an app on behalf of its owner `by`; null: of any owner who is a manager there. Throws `forbidden` if there is
 * none, `conflict` if the app is already bound.
 */
export async function bindApp(
  tx: Transaction,
  actor: Actor,
  appId: string,
  subject: Subject,
  by: string | null = null,
): Promise<void> {
  await nameActor(tx, actor);
  const { table, column } = managerStorage(subject);
  try {
    const { rows } = await sql`
      insert into bindings (app_id, owner_email, ${sql.ref(column)})
      select app_id, email, ${subject.id} from app_members m
      where app_id = ${appId} and role = 'owner' and ${by === null ? sql`true` : sql`email = ${by}`}
        and exists (select from ${sql.table(table)} g where g.${sql.ref(column)} = ${subject.id} and g.email = m.email)
      order by email limit 1 returning 1
    `.execute(tx);
    if (rows.length === 0) throw notManager(subject);
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'bindings_pkey') {
      throw new ServiceError('conflict', 'The app is already bound. Unbind it first.', {
        cause: error,
      });
    }
    // The role was lost at this moment.
    if (constraint?.endsWith('_fkey')) throw notManager(subject, error);
    throw error;
  }
}

function notManager({ kind }: Subject, cause?: unknown): ServiceError {
  const noun = kind === 'organization' ? 'organisation' : kind;
  return new ServiceError(
    'forbidden',
    `Only owners of the app who manage the ${noun} can bind it.`,
    { cause },
  );
}

/** Ends an app's binding. Returns false if it has none. */
export async function unbindApp(tx: Transaction, actor: Actor, appId: string): Promise<boolean> {
  await nameActor(tx, actor);
  const { rows } = await sql`
    delete from bindings where app_id = ${asUuid(appId)} returning 1
  `.execute(tx);
  return rows.length > 0;
}
