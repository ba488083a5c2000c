/**
 * Writers of the directory take turns, a kind at a time. An import touches rows and counts of alliances in an order of
 * its own, batch by batch: two writers at once would wait for each other in a circle, or make one slug twice.
 */
import { sql, type Transaction } from '../database/database.ts';

export type SlugTable = 'orgs' | 'alliances' | 'blueprints';

/** Holds until the transaction ends. Organisations move the counts of their alliances, so they take both, in this order. */
export async function lockDirectory(tx: Transaction, kind: SlugTable): Promise<void> {
  if (kind === 'orgs') await lockTable(tx, 'alliances');
  await lockTable(tx, kind);
}

export async function lockTable(tx: Transaction, table: SlugTable): Promise<void> {
  await sql`select pg_advisory_xact_lock(70420004, hashtext(${table}))`.execute(tx);
}
