/**
 * Idempotency keys of webhooks: the first use creates the webhook, later uses return the same response. The secret is read
 * from the webhook, so it is stored once, encrypted. Why: docs/decisions/0012-publish-and-audit.md.
 */
import { createHash, createHmac } from 'node:crypto';
import { lockApp } from '../../access/require-role.ts';
import { requireNotSuspended } from '../../access/suspensions.ts';
import { repeatableMinutes } from '../../contract/periods.ts';
import type { CreatedWebhook } from '../../contract/webhook.ts';
import { sql, type LeftJoined, type Transaction } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { toNewWebhook, withoutNone, type WebhookInput } from './webhooks.ts';

/**
 * Returns what `create` returns, or what it returned for the same key before. Throws `conflict` if the body differs, or if
 * the secret of that response is no longer the webhook's. A creation that fails leaves its key free.
 */
export async function createOnce(
  tx: Transaction,
  appId: string,
  { key, input }: { key: string; input: WebhookInput },
  secretBox: SecretBox,
  create: () => Promise<CreatedWebhook>,
): Promise<{ webhook: CreatedWebhook; isRepeated: boolean }> {
  // Concurrent requests with the same key wait here, like all that create webhooks of the app.
  await lockApp(tx, appId);
  await requireNotSuspended(tx, 'app', appId, null);
  const hash = sha256(key);
  const earlier = await findEarlier(tx, appId, { key: hash, input }, secretBox);
  if (earlier) return { webhook: toNewWebhook(input, earlier), isRepeated: true };
  const webhook = await create();
  await sql`
    insert into webhook_idempotency_keys (app_id, key, content, secret, webhook_id, expires_at)
    values (${appId}, ${hash}, ${contentHash(input, webhook.secret)}, ${sha256(webhook.secret)}, ${webhook.id},
      now() + ${repeatableMinutes} * interval '1 minute')
    -- One that has expired and is not deleted yet.
    on conflict (app_id, key) do update set content = excluded.content, secret = excluded.secret,
      webhook_id = excluded.webhook_id, expires_at = excluded.expires_at
  `.execute(tx);
  return { webhook, isRepeated: false };
}

type Earlier = { id: string; content: Buffer; secret_hash: Buffer };

async function findEarlier(
  tx: Transaction,
  appId: string,
  { key, input }: { key: Buffer; input: WebhookInput },
  secretBox: SecretBox,
): Promise<Parameters<typeof toNewWebhook>[1] | null> {
  const { rows } = await sql<Earlier & LeftJoined<{ sealed: Buffer; created_at: Date }>>`
    select k.webhook_id as id, k.content, k.secret as secret_hash, w.secret as sealed, w.created_at
    from webhook_idempotency_keys k left join webhooks w on w.id = k.webhook_id
    where k.app_id = ${appId} and k.key = ${key} and k.expires_at > now()
  `.execute(tx);
  const [row] = rows;
  if (!row) return null;
  if (row.sealed === null)
    throw conflict(`created the webhook ${row.id}, which was deleted. Use a new one.`);
  const secret = secretBox.tryOpen(row.sealed, row.id);
  if (secret === null)
    throw conflict(
      `created the webhook ${row.id}, whose secret cannot be shown again. Rotate it if you do not have it.`,
    );
  if (!row.secret_hash.equals(sha256(secret)))
    throw conflict(
      `created the webhook ${row.id}, whose secret was rotated since. Rotate it again if you do not have it.`,
    );
  if (!row.content.equals(contentHash(input, secret)))
    throw conflict('was already used with another body. Use a new one for each webhook.');
  return { id: row.id, createdAt: row.created_at, secret };
}

function conflict(what: string): ServiceError {
  return new ServiceError('conflict', `The Idempotency-Key ${what}`);
}

/** A field that is null counts as left out. */
function contentHash(
  { url, format = 'json', events, description, filters, headers }: WebhookInput,
  secret: string,
): Buffer {
  const given = withoutNone(filters);
  const content = [
    url,
    events ?? null,
    description ?? null,
    ...(given ? [given] : []),
    ...(format === 'json' ? [] : [format]),
  ];
  if (Object.keys(headers ?? {}).length === 0) return sha256(JSON.stringify(content));
  // Without a key, whoever reads the table could guess the value of a header.
  return createHmac('sha256', secret)
    .update(JSON.stringify([...content, headers]))
    .digest();
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
