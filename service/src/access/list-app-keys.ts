/** Reads the keys of one app for its members, including revoked and expired ones, of which there may be any number. */
import { sql, type Executor, type LeftJoined, pageOf } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { keyColumns, type ApiKey } from './keys.ts';

/** Temporary keys are of no use to anybody after they have expired. */
const listed = sql`not (temporary and expires_at <= now())`;

/** Returns one page, newest first, and the total. The caller has checked the member's role. */
export async function listAppKeys(
  executor: Executor,
  appId: string,
  { page, limit }: { page: number; limit: number },
): Promise<{ total: number; keys: ApiKey[] }> {
  const { rows } = await sql<{ total: number } & LeftJoined<ApiKey>>`
    select totals.total, page.* from (select count(*) as total from api_keys where app_id = ${appId} and ${listed}) totals
    left join lateral (
      select ${keyColumns} from api_keys where app_id = ${appId} and ${listed}
      order by id desc limit ${limit} offset ${(page - 1) * limit}
    ) page on true
    order by page.id desc
  `.execute(executor);
  const { entries: keys, total } = pageOf<ApiKey>(rows);
  return { total, keys };
}

/** Returns keys of all apps of which a user is a member now, those after `last`. */
export async function listMemberKeys(
  executor: Executor,
  userId: string,
  last: ApiKey | null,
  limit: number,
): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select ${keyColumns} from api_keys
    where app_id in (
        select m.app_id from users u join app_members m on m.email = u.email where u.id = ${userId}
      )
      and ${last ? sql`(app_id, id) > (${last.appId}, ${last.id})` : sql`true`} and ${listed}
    order by app_id, id limit ${limit}
  `.execute(executor);
  return rows;
}

/** Returns one key. Throws `not_found`. */
export async function readAppKey(executor: Executor, appId: string, id: string): Promise<ApiKey> {
  const { rows } = await sql<ApiKey>`
    select ${keyColumns} from api_keys where id = ${id} and app_id = ${appId}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  return row;
}
