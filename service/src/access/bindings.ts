/** Binds apps to organisations and alliances. A foreign key ends a binding when its owner stops being a manager. */
import { sql, violatedConstraint, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import type { Subject } from './managers.ts';

/** Binds an app. Throws `forbidden` if its owner is no manager there, `conflict` if the app is already bound. */
export async function bindApp(
  tx: Transaction,
  actor: Actor,
  appId: string,
  subject: Subject,
): Promise<void> {
  await nameActor(tx, actor);
  const orgId = subject.kind === 'organization' ? subject.id : null;
  const allianceId = subject.kind === 'alliance' ? subject.id : null;
  try {
    await sql`
      insert into bindings (app_id, owner_email, org_id, alliance_id)
      select id, owner_email, ${orgId}::uuid, ${allianceId}::uuid from apps where id = ${appId}
    `.execute(tx);
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'bindings_pkey') {
      throw new ServiceError('conflict', 'The app is bound already; unbind it first.', {
        cause: error,
      });
    }
    if (constraint?.endsWith('_fkey')) {
      throw new ServiceError(
        'forbidden',
        `The owner of the app is not a manager of that ${subject.kind}.`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** Ends an app's binding. Returns false if it has none. */
export async function unbindApp(tx: Transaction, actor: Actor, appId: string): Promise<boolean> {
  await nameActor(tx, actor);
  const { rows } = await sql`
    delete from bindings where app_id::text = ${appId} returning 1
  `.execute(tx);
  return rows.length > 0;
}
