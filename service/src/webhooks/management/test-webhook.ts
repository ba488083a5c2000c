/** Sends a test delivery in the process that got the request, in one attempt. Tests do not affect health. */
import { randomUUID } from 'node:crypto';
import type { DeliveryDetail } from '../../contract/webhook.ts';
import { requireNotSuspended } from '../../access/suspensions.ts';
import { sql, type Database } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { traceEvent } from '../../runtime/tracing.ts';
import { deliver, unreadableWaitMs, type DeliverDependencies } from '../sending/deliver.ts';
import { templateVersion } from '../../events/message.ts';
import { ChatLimits, readGate } from '../queue/dispatch/chat-limits.ts';
import { platforms } from '../sending/chat-platforms.ts';
import { firstOwner, type Chat, type Deliverable } from '../sending/deliverable.ts';
import { readDelivery } from './deliveries.ts';
import type { Room } from '../queue/dispatch/room.ts';
import { openSecrets, openUrl } from '../sending/signing-keys.ts';
import { recordAttempts } from '../queue/record/record.ts';
import { requireSampleEvent, requireWebhook, type SendingWebhook } from './webhooks.ts';

export type TestDependencies = DeliverDependencies & {
  database: Database;
  room: Room;
  leaseMs: number;
};

/**
 * Sends `webhook.test`, with a sample of `event` inside if one is named. Throws `not_found`, `validation_failed`,
 * `conflict`, `suspended`, `unavailable`.
 */
export async function testWebhook(
  dependencies: TestDependencies,
  target: { appId: string; webhookId: string; event: string | null },
): Promise<DeliveryDetail> {
  const { database, room } = dependencies;
  const webhook = await requireWebhook(database, target.appId, target.webhookId);
  await requireNotSuspended(database, 'webhook', webhook.id, target.appId);
  const sample =
    target.event === null ? null : await requireSampleEvent(database, target.appId, target.event);
  requireReadable(dependencies, webhook);
  const owner = await readOwner(database, target.appId);
  const { url } = webhook;
  const chat = await readChat(dependencies, webhook);
  const place = room.takeTest({ webhookId: webhook.id, owner, url, chat });
  if (!place) {
    throw new ServiceError(
      'conflict',
      'Too many deliveries to this webhook are in flight. Try again in a moment.',
    );
  }
  try {
    const data = JSON.stringify({
      message: 'This is a test. Your webhook works.',
      webhookId: webhook.id,
      sample,
    });
    const leased = await createLeased(dependencies, webhook.id, data);
    const delivery: Deliverable = {
      ...leased,
      data,
      owner,
      webhookId: webhook.id,
      event: 'webhook.test',
      trigger: 'test',
      number: 1,
      cycleAttempt: 1,
      url,
      latencyMs: null,
      secret: webhook.secret,
      previousSecret: webhook.previousSecret,
      ownHeaders: webhook.ownHeaders,
      chat,
    };
    const attempt = await deliver(dependencies, delivery);
    await new ChatLimits(dependencies).keep(delivery, attempt);
    await recordAttempts(database, [attempt]);
    return await readDelivery(database, target.appId, webhook.id, leased.id);
  } finally {
    room.release(place);
  }
}

async function readOwner(database: Database, appId: string): Promise<string> {
  const { rows } = await sql<{ owner: string }>`
    select ${firstOwner('apps.id')} as owner from apps where id = ${appId}
  `.execute(database);
  return rows[0]?.owner ?? '';
}

/** Runs before anything is written; otherwise a delivery that cannot be signed would stay without an attempt. */
function requireReadable(
  dependencies: TestDependencies,
  { id: webhookId, sealedUrl, secret, previousSecret, ownHeaders }: SendingWebhook,
): void {
  const isReadable = sealedUrl
    ? openUrl(dependencies, webhookId, sealedUrl)
    : openSecrets(dependencies, { webhookId, secret, previousSecret, ownHeaders });
  if (isReadable) return;
  throw new ServiceError(
    'unavailable',
    'The test cannot be sent: the secret, a header or the URL of the webhook cannot be decrypted at the moment.',
    { headers: { 'retry-after': String(unreadableWaitMs / 1000) } },
  );
}

/** Null unless the webhook posts into a chat channel. Throws `conflict` while the platform has to be left alone. */
async function readChat(
  { database }: TestDependencies,
  { id, format, sealedUrl }: SendingWebhook,
): Promise<Chat | null> {
  if (format === 'json' || sealedUrl === null) return null;
  const gate = await readGate(database, id);
  if (gate === null) return null;
  if (gate.openAt <= gate.now) return { format, sealedUrl, template: templateVersion, gate };
  const seconds = Math.ceil((gate.openAt - gate.now) / 1_000);
  throw new ServiceError(
    'conflict',
    `${platforms[format].name} limits how often it is called. Try again in ${seconds} seconds.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

/**
 * Creates the delivery together with its lease, so that no worker claims it. If this process dies, the lease runs out.
 */
async function createLeased(
  { database, leaseMs }: TestDependencies,
  webhookId: string,
  data: string,
) {
  const span = traceEvent('webhook.test');
  const leaseToken = randomUUID();
  const leaseEndsAt = performance.now() + leaseMs;
  type Row = Pick<Deliverable, 'id' | 'eventId' | 'createdAtMs'> & { eventCreatedAt: Date };
  const { rows } = await sql<Row>`
    with event as (
      insert into events (id, name, audience, data, traceparent)
      values (uuid_v7(), 'webhook.test', 'webhook', ${data}, ${span.traceparent})
      returning id, created_at
    ),
    delivery as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, cycle_attempts, attempt_count,
        due_at, lease_token, leased_at)
      select uuid_v7(), event.id, 'webhook.test', ${webhookId}, 'test', 1, 1,
        queue_now() + ${leaseMs} * interval '1 millisecond', ${leaseToken}, queue_now()
      from event
      returning id, created_at
    )
    select delivery.id, event.id as "eventId", event.created_at as "eventCreatedAt",
      (extract(epoch from delivery.created_at) * 1000)::float8 as "createdAtMs"
    from event, delivery
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the test was not written');
  span.end(row.eventId);
  return {
    ...row,
    leaseToken,
    leaseEndsAt,
    eventCreatedAt: row.eventCreatedAt.toISOString(),
    traceparent: span.traceparent,
  };
}
