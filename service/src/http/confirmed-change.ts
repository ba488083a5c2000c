import type { Change, Database, Transaction } from '../database/database.ts';

/**
 * For callers whose rights may end while a change waits for rows that others have locked. `confirm` looks again when the
 * change has all its locks, and keeps the rights until the end of the transaction; if it throws, nothing is changed.
 */
export function confirmedChange(
  database: Database,
  confirm: (tx: Transaction) => Promise<void>,
): Change {
  return (work) =>
    database.transaction().execute(async (tx) => {
      const result = await work(tx);
      await confirm(tx);
      return result;
    });
}
