/**
 * Runs one migration in a transaction, or creates its index while others write. It never waits long for a lock: a request
 * that waits makes every later one on the same table wait behind it, deliveries included. It gives way instead, and tries
 * again.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { StartError } from '../errors.ts';
import { createIndex, parseIndex } from './create-index.ts';
import { sql, type Database, type Transaction } from './database.ts';
import { listLockHolders } from './list-lock-holders.ts';

export type Migration = { name: string; text: string; checksum: string };

const lockTimeoutMs = 100;
/** Statements of the service that queued behind the last try are done by then. */
const lockRetryMs = 500;
/** In PostgreSQL's list of error codes: lock_not_available, deadlock_detected. */
const lockFaults = new Set(['55P03', '40P01']);

/** `lockPatienceMs`: after this, it reports the sessions that hold the locks. */
export async function applyMigration(
  connection: Database,
  { name, text, checksum }: Migration,
  lockPatienceMs: number,
): Promise<void> {
  const deadline = Date.now() + lockPatienceMs;
  const index = parseIndex(text);
  if (index) await createIndex(connection, index, transact);
  await transact(async (tx) => {
    if (!index) await sql.raw(text).execute(tx);
    await sql`insert into migrations (name, checksum) values (${name}, ${checksum})`.execute(tx);
  });

  async function transact(act: (tx: Transaction) => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        return await transactOnce(connection, act);
      } catch (error) {
        if (!lockFaults.has((error as { code?: string }).code ?? '')) throw error;
        if (Date.now() >= deadline) throw await locked(connection, name);
      }
      await wait(lockRetryMs);
    }
  }
}

async function transactOnce(
  connection: Database,
  act: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  await connection.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
    await act(tx);
  });
}

async function locked(connection: Database, name: string): Promise<StartError> {
  const holders = await listLockHolders(connection);
  return new StartError(
    `the migration ${name} does not get its locks while other sessions hold them${holders && `: ${holders}`}; end those sessions or wait for them, and try again`,
  );
}
