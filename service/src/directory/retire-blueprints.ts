/** Retires the active blueprints that match a condition over the alias `b`. They stay in the directory. */
import { sql, type Transaction } from '../database/database.ts';
import type { Sql } from './list.ts';

/** Returns how many it retired. */
export async function retireBlueprints(tx: Transaction, isGone: Sql): Promise<number> {
  const result = await sql`
    update blueprints b set active = false, retired_at = now() where b.active and ${isGone}
  `.execute(tx);
  return Number(result.numAffectedRows ?? 0n);
}
