/** Retires the active blueprints, under the alias `b`, that a condition finds. They stay in the directory. */
import { sql, type Transaction } from '../database/database.ts';
import type { Sql } from './list.ts';

/** Returns how many. */
export async function retireBlueprints(tx: Transaction, isGone: Sql): Promise<number> {
  const result = await sql`
    update blueprints b set active = false, retired_at = now() where b.active and ${isGone}
  `.execute(tx);
  return Number(result.numAffectedRows ?? 0n);
}
