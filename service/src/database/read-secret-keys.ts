/**
 * Reads the keys that encrypt webhook secrets: from the configuration, or generated with the embedded database. Other secrets that
 * an installation generates and keeps next to its data come from here, too.
 */
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import type { Config } from '../settings/config.ts';
import { StartError } from '../errors.ts';
import { sql, type Database } from './database.ts';
import { exists, unfinishedName } from './unfinished-files.ts';

export const lostKeyAdvice =
  'restore it from a backup, or set SECRET_KEY to the key; if it is lost, run orgdir database replace-secret-key';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;

/** Throws a `StartError` if there are no keys and none may be generated, because the database is the operator's. */
export function requireSecretKey({ secretKeys, databaseUrl }: Omit<Where, 'dataDir'>): void {
  if (!secretKeys && databaseUrl !== null)
    throw new StartError(
      'SECRET_KEY is required with DATABASE_URL: 32 bytes in base64, for example the output of: openssl rand -base64 32',
    );
}

/**
 * Newest first. Throws a `StartError` if there are none and none may be generated: the database is the operator's, or a
 * lost key has encrypted what is stored.
 */
export async function readSecretKeys(config: Where, database: Database): Promise<Buffer[]> {
  requireSecretKey(config);
  const { secretKeys, dataDir } = config;
  if (secretKeys) return secretKeys;
  const loss = await findLostKey(database, dataDir);
  if (loss !== null) throw new StartError(`${loss}; ${lostKeyAdvice}`);
  return [Buffer.from(await readOrCreateSecret(secretKeyFile(dataDir)), 'base64')];
}

/** Where the key is that an installation with the embedded database generates. */
export function secretKeyFile(dataDir: string): string {
  return join(dataDir, 'secret-key');
}

/** Says what cannot be decrypted because the file is missing; null if it is there, or if nothing needs it. */
export async function findLostKey(database: Database, dataDir: string): Promise<string | null> {
  if (await exists(secretKeyFile(dataDir))) return null;
  const { rows } = await sql<{ webhooks: number; authenticators: number }>`
    select (select count(*) from webhooks) as webhooks, (select count(*) from authenticators) as authenticators
  `.execute(database);
  const { webhooks, authenticators } = rows[0] ?? { webhooks: 0, authenticators: 0 };
  return webhooks + authenticators === 0
    ? null
    : `${secretKeyFile(dataDir)} is missing, and with its key the secrets of ${webhooks} webhooks and ${authenticators} authenticator apps are encrypted`;
}

/** Reads a secret, or generates it: 32 random bytes in base64, in a file that only its owner can read. */
export async function readOrCreateSecret(file: string): Promise<string> {
  try {
    return (await readSecret(file)) ?? (await createSecret(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartError(
      `${file} cannot be used (${code}); it belongs to whoever started the service first, for example root: run as that user, or choose another DATA_DIR`,
      { cause: error },
    );
  }
}

async function readSecret(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  if (/^[A-Za-z0-9+/]{43}=$/.test(text.trim())) return text.trim();
  throw new StartError(
    `${file} does not hold 32 bytes in base64; restore it from a backup, because no other key decrypts the stored secrets`,
  );
}

async function createSecret(file: string): Promise<string> {
  const unfinished = unfinishedName(file);
  const text = `${randomBytes(32).toString('base64')}\n`;
  await writeFile(unfinished, text, { mode: 0o600, flush: true });
  // Two first starts may race. A link never replaces an existing file, so both end up with the secret of the first.
  await link(unfinished, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(unfinished);
  return (await readFile(file, 'utf8')).trim();
}
