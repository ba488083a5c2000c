/**
 * Makes writers of the directory take turns, per kind. An import changes rows and counts of alliances batch by batch,
 * in the order of its lines: two writers at once would deadlock, or assign one slug twice.
 */
import { sql, type Transaction } from '../database/database.ts';

export type SlugTable = 'orgs' | 'alliances' | 'blueprints';

/**
 * Held until the transaction ends. Writers of organisations change the counts of alliances too, so they take both
 * locks, in this order.
 */
export async function lockDirectory(tx: Transaction, kind: SlugTable): Promise<void> {
  if (kind === 'orgs') await lockTable(tx, 'alliances');
  await lockTable(tx, kind);
}

export async function lockTable(tx: Transaction, table: SlugTable): Promise<void> {
  await sql`select pg_advisory_xact_lock(70420004, hashtext(${table}))`.execute(tx);
}
