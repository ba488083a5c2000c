import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../settings/config.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;

/** Checks whether there is a key. `check-stored-secrets.ts` checks whether it decrypts the stored secrets. */
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
export async function readSecretFile(file: string): Promise<Read> {
  try {
    const text = (await readFile(file, 'utf8')).trim();
    if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return { kind: 'damaged' };
    return { kind: 'key', key: Buffer.from(text, 'base64') };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { kind: 'none' } : { kind: 'unreadable', code };
  }
}
