/**
 * Idempotency keys of what people make in the portal and the console, and of new secrets of webhooks: the first use makes it,
 * later uses find it. Those of new webhooks are in a table of their own. Why: docs/decisions/0012-publish-and-audit.md.
 */
import { hash } from 'node:crypto';
import { repeatableMinutes } from '../contract/periods.ts';
import { sql, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';

export type Once = {
  /** The account, or the app. */
  by: string | null;
  /** Without one, each request makes something. */
  key: string | undefined;
  /** The operation and its input: the same key makes nothing else. */
  content: readonly unknown[];
};

/**
 * Returns the id that `create` returns, or that it returned for the same key before. Throws `conflict`
 * if something else was asked for. A creation that fails leaves its key free.
 */
export async function createOnce(
  tx: Transaction,
  { by, key, content }: Once,
  create: () => Promise<string>,
): Promise<{ id: string; isRepeated: boolean }> {
  if (key === undefined) return { id: await create(), isRepeated: false };
  const keyHash = sha256([by, key]);
  const contentHash = sha256(content);
  // Concurrent requests with the same key wait here.
  await sql`select pg_advisory_xact_lock(70420042, ${keyHash.readInt32BE()})`.execute(tx);
  const { rows } = await sql<{ id: string; content: Buffer }>`
    select made_id as id, content from creation_idempotency_keys where key = ${keyHash} and expires_at > now()
  `.execute(tx);
  const [earlier] = rows;
  if (earlier) {
    if (!earlier.content.equals(contentHash))
      throw usedKey('was already used for another request. Use a new one for each.');
    return { id: earlier.id, isRepeated: true };
  }
  const id = await create();
  await sql`
    insert into creation_idempotency_keys (key, content, made_id, expires_at)
    values (${keyHash}, ${contentHash}, ${id}, now() + ${repeatableMinutes} * interval '1 minute')
    -- One that has expired and is not deleted yet.
    on conflict (key) do update set content = excluded.content, made_id = excluded.made_id, expires_at = excluded.expires_at
  `.execute(tx);
  return { id, isRepeated: false };
}

export function usedKey(what: string): ServiceError {
  return new ServiceError('conflict', `The Idempotency-Key ${what}`);
}

function sha256(content: readonly unknown[]): Buffer {
  return hash('sha256', JSON.stringify(content), 'buffer');
}
