import { join } from 'node:path';
import type { Config } from '../settings/config.ts';
import type { Database } from '../database/database.ts';
import { findLostKey, lostKeyAdvice } from '../database/read-secret-keys.ts';
import { tryToOpen } from '../database/sealed-secrets.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { authenticatorSecrets } from '../sign-in/authenticators.ts';
import { webhookSecrets } from '../webhooks/management/sealed-columns.ts';
import { readSecretFile } from './check-secret-key.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;

/** The number of rows to try; decrypting them takes some seconds. */
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
  const { tried, undecryptable } = await tryToOpen(database, box, webhookSecrets, triedMax);
  const apps = await tryToOpen(database, box, authenticatorSecrets, triedMax);
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
