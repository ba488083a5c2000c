import { join } from 'node:path';
import type { Config } from '../settings/config.ts';
import { sql, type Database } from '../database/database.ts';
import { findLostKey, lostKeyAdvice } from '../database/read-secret-keys.ts';
import { createSecretBox, type SecretBox } from '../runtime/secret-box.ts';
import { urlOwner } from '../webhooks/sending/chat-platforms.ts';
import { headersOwner } from '../webhooks/sending/own-headers.ts';
import { readSecretFile } from './check-secret-key.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;
type Row = { id: string; secrets: Buffer[]; headers: Buffer | null; sealedUrl: Buffer | null };

const batchSize = 1_000;
/** The number of secrets to try; decrypting them takes some seconds. */
const triedMax = 200_000;

/** Checks whether SECRET_KEY decrypts the secrets and headers of webhooks, the URLs of chat channels and the secrets of authenticator apps. */
export async function checkStoredSecrets(
  database: Database,
  config: Where,
  faulty: ReadonlySet<string>,
): Promise<Finding> {
  const keys = faulty.has('SECRET_KEY') ? null : await keysOf(config);
  const loss = config.databaseUrl === null ? await findLostKey(database, config.dataDir) : null;
  if (!keys && loss !== null) return failed('stored_secrets', loss, lostKeyAdvice);
  if (!keys)
    return skipped('stored_secrets', 'not checked: there is no SECRET_KEY to decrypt them');
  const box = createSecretBox(keys);
  const { tried, undecryptable } = await tryAll(database, box);
  const apps = await tryAuthenticators(database, box);
  if (undecryptable + apps.undecryptable === 0)
    return ok(
      'stored_secrets',
      `SECRET_KEY decrypts the secrets of all ${tried} webhooks and ${apps.tried} authenticator apps`,
    );
  if (undecryptable === 0)
    return failed(
      'stored_secrets',
      `SECRET_KEY does not decrypt the secrets of ${apps.undecryptable} of ${apps.tried} authenticator apps, whose codes are refused`,
      'add the key that encrypted them to SECRET_KEY, after a comma; if it is lost, run orgdir accounts remove-second-factor for their accounts',
    );
  return failed(
    'stored_secrets',
    `SECRET_KEY does not decrypt the secrets of ${undecryptable} of ${tried} webhooks, which get no deliveries`,
    'add the key that encrypted them to SECRET_KEY, after a comma; if it is lost, ask their owners to rotate the secret, and to set the headers again or to paste the URL of a chat channel again if they have such',
  );
}

async function keysOf({ secretKeys, databaseUrl, dataDir }: Where): Promise<Buffer[] | null> {
  if (secretKeys || databaseUrl !== null) return secretKeys;
  const read = await readSecretFile(join(dataDir, 'secret-key'));
  return read.kind === 'key' ? [read.key] : null;
}

async function tryAll(database: Database, box: SecretBox) {
  let last = '00000000-0000-0000-0000-000000000000';
  const count = { tried: 0, undecryptable: 0 };
  for (;;) {
    const { rows } = await sql<Row>`
      select id, array_remove(array[secret,
        case when previous_secret_expires_at > now() then previous_secret end], null) as secrets,
        own_headers as headers, sealed_url as "sealedUrl"
      from webhooks where id > ${last} order by id limit ${batchSize}
    `.execute(database);
    for (const { id, secrets, headers, sealedUrl } of rows) {
      count.tried += 1;
      const opens =
        secrets.every((secret) => canOpen(box, secret, id)) &&
        (headers === null || canOpen(box, headers, headersOwner(id))) &&
        (sealedUrl === null || canOpen(box, sealedUrl, urlOwner(id)));
      if (!opens) count.undecryptable += 1;
    }
    last = rows.at(-1)?.id ?? last;
    if (rows.length < batchSize || count.tried >= triedMax) return count;
  }
}

async function tryAuthenticators(database: Database, box: SecretBox) {
  const { rows } = await sql<{ id: string; secret: Buffer }>`
    select user_id as id, secret from authenticators limit ${triedMax}
  `.execute(database);
  const undecryptable = rows.filter(({ id, secret }) => !canOpen(box, secret, id)).length;
  return { tried: rows.length, undecryptable };
}

function canOpen(box: SecretBox, secret: Buffer, owner: string): boolean {
  try {
    box.open(secret, owner);
    return true;
  } catch {
    return false;
  }
}
