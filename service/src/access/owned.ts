/** Checks who owns an app or key. Another owner's app or key gives the same error as a missing one. */
import { sql, type Executor } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { readApp, type App } from './apps.ts';

/** Throws `not_found`. */
export async function requireOwnApp(executor: Executor, owner: string, id: string): Promise<App> {
  const { rows } = await sql`
    select 1 from apps where id = ${id} and owner_email = ${owner}
  `.execute(executor);
  if (rows.length === 0) throw new ServiceError('not_found');
  return readApp(executor, id);
}

/** Throws `not_found`. The caller has checked the app's owner. */
export async function requireAppKey(executor: Executor, appId: string, id: string): Promise<void> {
  const { rows } = await sql`
    select 1 from api_keys where id = ${id} and app_id = ${appId}
  `.execute(executor);
  if (rows.length === 0) throw new ServiceError('not_found');
}
