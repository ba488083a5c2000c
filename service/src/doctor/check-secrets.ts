/** Checks SECRET_KEY, and whether it decrypts what is stored. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../settings/config.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';
import type { Database } from '../database/database.ts';
import { findLostKey, lostKeyAdvice } from '../database/read-secret-keys.ts';
import { tryToOpen } from '../database/sealed-secrets.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { authenticatorSecrets } from '../sign-in/authenticators.ts';
import { webhookSecrets } from '../webhooks/management/sealed-columns.ts';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;

/** Checks whether there is a key. `checkStoredSecrets` checks whether it decrypts the stored secrets. */
export async function checkSecretKey(
  { secretKeys, databaseUrl, dataDir }: Where,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('SECRET_KEY'))
    return [skipped('secret_key', 'not checked: SECRET_KEY is invalid')];
  if (secretKeys)
    return [
      ok(
        'secret_key',
        secretKeys.length === 1 ? 'one key' : `${secretKeys.length} keys; the first encrypts`,
      ),
    ];
  if (databaseUrl !== null)
    return [
      failed(
        'secret_key',
        'SECRET_KEY is not set, but DATABASE_URL requires it',
        'set it to the output of: openssl rand -base64 32, once, and keep it with your backups',
      ),
    ];
  return [await checkFile(join(dataDir, 'secret-key'))];
}

async function checkFile(file: string): Promise<Finding> {
  const read = await readSecretFile(file);
  if (read.kind === 'key') return ok('secret_key', `one key, in ${file}`);
  if (read.kind === 'none')
    return ok('secret_key', 'none yet; the first start of the service creates one');
  // The check of the folder reports the cause.
  if (read.kind === 'unreadable' && read.code === 'ENOTDIR')
    return skipped('secret_key', 'not checked: DATA_DIR is not a folder');
  if (read.kind === 'unreadable')
    return failed(
      'secret_key',
      `${file} cannot be read (${read.code})`,
      'let the user that runs the service own the file, and run orgdir doctor as that user',
    );
  return failed(
    'secret_key',
    `${file} does not hold 32 bytes in base64`,
    'restore the file from a backup: no other key decrypts the stored secrets',
  );
}

type Read =
  | { kind: 'key'; key: Buffer }
  | { kind: 'none' | 'damaged' }
  | { kind: 'unreadable'; code: string };

/** Reads the key that an installation with the embedded database has generated. It never generates one. */
async function readSecretFile(file: string): Promise<Read> {
  try {
    const text = (await readFile(file, 'utf8')).trim();
    if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return { kind: 'damaged' };
    return { kind: 'key', key: Buffer.from(text, 'base64') };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { kind: 'none' } : { kind: 'unreadable', code };
  }
}

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
