/**
 * Deletes expired sessions, links, invitations and unfinished sign-ins with a provider, a bounded number at a time. A task
 * of each process that serves the portal: anybody can begin sign-ins, and none of them has to end.
 */
import { sql, type Database } from '../database/database.ts';
import type { Logger } from '../runtime/log.ts';
import { createLoop, type Loop } from '../loop.ts';

const rowsMax = 500;
const everyMs = 600_000;

export function createSweep(database: Database, log: Logger): Loop {
  return createLoop({
    name: 'sign-in sweep',
    log,
    turn: async () => ((await sweep(database)) ? 0 : everyMs),
  });
}

/** Returns whether there may be more. */
async function sweep(database: Database): Promise<boolean> {
  const { rows } = await sql<{ more: boolean }>`
    with ended as (
      delete from sessions where id in (select id from sessions where expires_at <= now() limit ${rowsMax} for update skip locked) returning 1
    ),
    unfinished as (
      delete from verifications where id in (select id from verifications where expires_at <= now() limit ${rowsMax} for update skip locked)
      returning 1
    ),
    unconfirmed as (
      delete from address_changes where user_id in (
        select user_id from address_changes where expires_at <= now() limit ${rowsMax} for update skip locked
      ) returning 1
    ),
    expired as (
      delete from app_invitations where id in (select id from app_invitations where expires_at <= now() limit ${rowsMax} for update skip locked)
      returning 1
    ),
    unused as (
      delete from password_links where email in (
        select email from password_links where expires_at <= now() limit ${rowsMax} for update skip locked
      ) returning 1
    )
    select greatest(
      (select count(*) from ended), (select count(*) from unfinished), (select count(*) from unconfirmed),
      (select count(*) from expired), (select count(*) from unused)
    ) >= ${rowsMax} as more
  `.execute(database);
  return rows[0]?.more ?? false;
}
