/** Gives a webhook a new secret. Both stay valid during the overlap. */
import { hash } from 'node:crypto';
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import { createOnce, usedKey, type Once } from '../../access/create-once.ts';
import type { CreatedWebhook } from '../../contract/webhook.ts';
import { secretExpiresSoonHours } from '../../contract/periods.ts';
import { coalesce } from '../../database/coalesce.ts';
import { sql, type Database, type Transaction } from '../../database/database.ts';
import { type SecretBox } from '../../runtime/secret-box.ts';
import { generateSecret } from '../sending/sign.ts';
import { urlHost } from '../sending/url-host.ts';
import { readWebhook, requireWebhook } from './webhooks.ts';

/**
 * Returns the webhook with its new secret; no other call returns it. If no key of SECRET_KEY opens the old secret,
 * there is no overlap: nobody can sign with it, and waiting for it would keep the new one from signing. Throws
 * `not_found`.
 */
export async function rotateSecret(
  tx: Transaction,
  actor: Actor,
  appId: string,
  id: string,
  overlapSeconds: number,
  secretBox: SecretBox,
): Promise<CreatedWebhook> {
  const secret = generateSecret();
  const overlaps = overlapSeconds > 0 && (await isReadable(tx, appId, id, secretBox));
  await sql`
    update webhooks w
    set previous_secret = case when ${overlaps} then w.secret end,
      previous_secret_expires_at = case when ${overlaps} then now() + ${overlapSeconds} * interval '1 second' end,
      secret = ${secretBox.seal(secret, id)}, updated_at = now()
    where w.id = ${id} and w.app_id = ${appId}
  `.execute(tx);
  const webhook = await readWebhook(tx, appId, id);
  await recordAudit(tx, actor, {
    action: 'webhook.secret_rotated',
    subject: { kind: 'webhook', id },
    appId,
    details: { overlapSeconds: overlaps ? overlapSeconds : 0, host: urlHost(webhook.url) },
  });
  return { ...webhook, secret };
}

/**
 * Returns what `rotate` returns or, for the same key as before, the webhook with the same secret. Throws `conflict` if it was
 * rotated again since.
 */
export async function rotateOnce(
  tx: Transaction,
  once: Once,
  { appId, id }: { appId: string; id: string },
  secretBox: SecretBox,
  rotate: () => Promise<CreatedWebhook>,
): Promise<{ webhook: CreatedWebhook; isRepeated: boolean }> {
  let rotated: CreatedWebhook | null = null;
  const made = await createOnce(tx, once, async () => {
    rotated = await rotate();
    return nameOf(rotated.secret);
  });
  if (rotated) return { webhook: rotated, isRepeated: false };
  const { secret: sealed } = await requireWebhook(tx, appId, id);
  const secret = secretBox.tryOpen(sealed, id);
  if (secret === null)
    throw usedKey(
      `made a secret of the webhook ${id}, which cannot be shown again. Use a new one.`,
    );
  if (nameOf(secret) !== made.id)
    throw usedKey(
      `made a secret of the webhook ${id}, which was rotated again since. Use a new one.`,
    );
  return { webhook: { ...(await readWebhook(tx, appId, id)), secret }, isRepeated: true };
}

/** Stands for a secret, and does not tell it. */
function nameOf(secret: string): string {
  return hash('sha256', secret)
    .slice(0, 32)
    .replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

async function isReadable(
  tx: Transaction,
  appId: string,
  id: string,
  secretBox: SecretBox,
): Promise<boolean> {
  const { rows } = await sql<{ secret: Buffer }>`
    select secret from webhooks where id = ${id} and app_id = ${appId} for update
  `.execute(tx);
  const [row] = rows;
  return row !== undefined && secretBox.tryOpen(row.secret, id) !== null;
}

/** Returns a reader for scrapes, which queries at most once per minute: how many webhooks have a previous secret that expires soon. */
export function createExpiringSecretsReader(database: Database): () => Promise<number> {
  return coalesce(() => countExpiringSecrets(database), { timeoutMs: 2_000, reuseMs: 60_000 });
}

async function countExpiringSecrets(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from webhooks
    where active and previous_secret_expires_at between now() and now() + ${secretExpiresSoonHours} * interval '1 hour'
  `.execute(database);
  return rows[0]?.count ?? 0;
}
