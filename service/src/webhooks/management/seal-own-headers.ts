/** Encrypts the headers that an owner adds to deliveries. `sending/own-headers.ts` sends them. */
import type { OwnHeaders } from '../../contract/own-headers.ts';
import type { Transaction } from '../../database/database.ts';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { requireProcessesSince } from '../queue/workers.ts';
import { headersOwner, sealedText } from '../sending/own-headers.ts';

/** What creating and changing webhooks needs for their headers. */
export type HeaderOptions = { secretBox: SecretBox; serviceName: string };
export type SealedHeaders = { sealed: Buffer | null; names: string[] | null };

/** `0022_own_headers.sql`: processes without it deliver without the headers. */
const ownHeadersMigration = 22;

/** Throws `conflict` if processes of an earlier version would leave the headers out. */
export async function sealOwnHeaders(
  tx: Transaction,
  webhook: { id: string; url: string },
  headers: OwnHeaders | null,
  secretBox: SecretBox,
): Promise<SealedHeaders> {
  const names = Object.keys(headers ?? {});
  if (headers === null || names.length === 0) return { sealed: null, names: null };
  await requireProcessesSince(tx, ownHeadersMigration, 'own headers');
  const sealed = secretBox.seal(sealedText(headers, webhook.url), headersOwner(webhook.id));
  return { sealed, names };
}

/**
 * What a change of a webhook stores, or null if its headers stay. They hold credentials for one server, so a URL of another
 * origin removes them, unless the same request sets some.
 */
export async function changeOwnHeaders(
  tx: Transaction,
  before: { id: string; url: string },
  {
    url = before.url,
    headers,
  }: { url?: string | undefined; headers?: OwnHeaders | null | undefined },
  secretBox: SecretBox,
): Promise<SealedHeaders | null> {
  const moves = new URL(url).origin !== new URL(before.url).origin;
  if (headers === undefined && !moves) return null;
  return sealOwnHeaders(tx, { id: before.id, url }, headers ?? null, secretBox);
}
