/** An installation whose webhooks have their health in their rows keeps it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { listWebhooks } from '../../src/webhooks/management/webhooks.ts';
import { openBeforeUpgrade } from '../support/upgrade.ts';

const { database } = await openBeforeUpgrade('0022_queue_floors.sql');

test('an upgrade keeps the health of webhooks', async () => {
  const appId = randomUUID();
  const [success, failure] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'];
  await sql`insert into apps (id, name) values (${appId}, 'Herald')`.execute(database);
  await sql`
    insert into webhooks (id, app_id, url, secret, last_success_at, last_failure_at, exhausted_in_a_row)
    select uuid_v7(), ${appId}, 'https://example.org/', '', h.*
    from (values (${success}::timestamptz, ${failure}::timestamptz, 3), (null, null, 0)) as h
  `.execute(database);
  await migrate(database);
  const { webhooks } = await listWebhooks(database, appId, { page: 1, limit: 10 });
  const health = webhooks.map((one) => [one.lastSuccessAt, one.lastFailureAt, one.exhaustedInARow]);
  // Webhooks of one millisecond come in any order.
  assert.deepEqual(new Set(health.map(String)), new Set([`${success},${failure},3`, ',,0']));
});
