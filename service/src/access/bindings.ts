/** Bindings: the organisation or alliance whose internal events an app may have. The schema ends them. */
import { sql, violatedConstraint, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Subject } from './managers.ts';

/** Binds an app. Throws `forbidden` where its owner is no manager there, `conflict` where it is bound already. */
export async function bindApp(tx: Transaction, appId: string, subject: Subject): Promise<void> {
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
