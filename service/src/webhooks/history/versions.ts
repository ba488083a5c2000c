/**
 * The settings of webhooks and bindings by time. Triggers write them: `migrations/0002_baseline_access.sql` and
 * `0005_baseline_webhooks.sql`.
 */
import { sql, type Database } from '../../database/database.ts';
import { deleteInBatches } from '../../database/delete-in-batches.ts';

/** Deletes versions that ended before the events that are kept. */
export async function dropOldVersions(database: Database, retentionDays: number): Promise<void> {
  for (const table of ['webhook_versions', 'binding_versions'])
    await deleteInBatches(database, {
      table,
      key: 'id',
      // Events are kept for up to two days longer.
      condition: sql`valid_to < now() - (${retentionDays}::int + 2) * interval '1 day'`,
    });
}
