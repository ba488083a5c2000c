/** Sends a test delivery in the process that got the request, in one attempt. Tests do not affect health. */
import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { DeliveryDetail } from '../../contract/webhook.ts';
import { sql, type Database } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { deliver, unreadableWaitMs, type DeliverDependencies } from '../sending/deliver.ts';
import type { Deliverable } from '../sending/deliverable.ts';
import { readDelivery } from './deliveries.ts';
import type { InFlight } from '../queue/in-flight.ts';
import { openSecrets } from '../sending/open-secrets.ts';
import { recordAttempts } from '../queue/record.ts';
import { requireSampleEvent, requireWebhook } from './webhooks.ts';

export type TestDependencies = DeliverDependencies & {
  database: Database;
  inFlight: InFlight;
  leaseMs: number;
  deactivateAfter: number;
};

/**
 * Sends `webhook.test`, with a sample of `event` inside if one is named. Throws `not_found`, `validation_failed`,
 * `conflict`, `unavailable`.
 */
export async function testWebhook(
  dependencies: TestDependencies,
  target: { appId: string; webhookId: string; event: string | null },
): Promise<DeliveryDetail> {
  const { database, inFlight } = dependencies;
  const webhook = await requireWebhook(database, target.appId, target.webhookId);
  const sample =
    target.event === null ? null : await requireSampleEvent(database, target.appId, target.event);
  requireReadable(dependencies, webhook);
  const slot = inFlight.tryAdd(webhook.id);
  if (!slot) {
    throw new ServiceError(
      'conflict',
      'Too many deliveries to this webhook are in progress; try again in a moment.',
    );
  }
  try {
    const data = JSON.stringify({
      message: 'This is a test. Your webhook works.',
      webhookId: webhook.id,
      sample,
    });
    const leased = await createLeased(dependencies, webhook.id, data);
    const attempt = await deliver(dependencies, {
      ...leased,
      data,
      webhookId: webhook.id,
      event: 'webhook.test',
      trigger: 'test',
      number: 1,
      cycleAttempt: 1,
      url: webhook.url,
      secret: webhook.secret,
      previousSecret: webhook.previous_secret,
      failing: false,
    });
    await recordAttempts(database, [attempt], {
      deactivateAfter: dependencies.deactivateAfter,
      endedLeases: [leased.leaseToken],
    });
    return await readDelivery(database, target.appId, webhook.id, leased.id);
  } finally {
    slot.release();
  }
}

/** Runs before anything is written; otherwise a delivery that cannot be signed would stay without an attempt. */
function requireReadable(
  dependencies: TestDependencies,
  {
    id: webhookId,
    secret,
    previous_secret: previousSecret,
  }: Awaited<ReturnType<typeof requireWebhook>>,
): void {
  if (openSecrets(dependencies, { webhookId, secret, previousSecret })) return;
  throw new ServiceError(
    'unavailable',
    'The secret of the webhook cannot be decrypted at the moment, so the test cannot be signed.',
    { headers: { 'retry-after': String(unreadableWaitMs / 1000) } },
  );
}

/**
 * Creates the delivery together with its lease, so that no worker claims it. If this process dies, the lease runs out.
 */
async function createLeased(
  { database, leaseMs }: TestDependencies,
  webhookId: string,
  data: string,
): Promise<Pick<Deliverable, 'id' | 'leaseToken' | 'eventCreatedAt'>> {
  const id = uuidv7();
  const leaseToken = randomUUID();
  const { rows } = await sql<{ created_at: Date }>`
    with event as (
      insert into events (id, name, audience, data) values (${uuidv7()}, 'webhook.test', 'webhook', ${data})
      returning id, created_at
    ),
    delivery as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, cycle_attempts, attempt_count,
        due_at, lease_token, leased_at)
      select ${id}, event.id, 'webhook.test', ${webhookId}, 'test', 1, 1, queue_now(), ${leaseToken}, queue_now()
      from event
    ),
    lease as (
      insert into leases (token, delivery_ids, leased_until)
      values (${leaseToken}, array[${id}::uuid], queue_now() + ${leaseMs} * interval '1 millisecond')
    )
    select created_at from event
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the test was not written');
  return { id, leaseToken, eventCreatedAt: row.created_at.toISOString() };
}
