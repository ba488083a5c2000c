/** A primary, its synchronous standby, and the processes of a service on them. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import type { PostgresServer } from './postgres.ts';

const pollMs = 20;

/**
 * Makes `standby` a new standby of the primary, and lets commits wait for it. Resolves when they do, so from then on
 * nothing that was acknowledged is lost with the primary.
 */
export async function followInSync(
  primary: PostgresServer,
  standby: PostgresServer,
  database: Database,
): Promise<void> {
  await standby.follow(primary);
  await setSynchronous(database, '*');
  for (;;) {
    const { rows } = await sql<{ is_synchronous: boolean }>`
      select exists (select from pg_stat_replication where sync_state = 'sync') as is_synchronous
    `.execute(database);
    if (rows[0]?.is_synchronous) return;
    await wait(pollMs);
  }
}

/** A promoted server has no standby, and its commits wait until it is told so. */
export async function stopWaiting(database: Database): Promise<void> {
  await setSynchronous(database, '');
}

async function setSynchronous(database: Database, names: string): Promise<void> {
  await sql`alter system set synchronous_standby_names = ${sql.lit(names)}`.execute(database);
  await sql`select pg_reload_conf()`.execute(database);
}
