import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;

/** Whether there is a key. Whether it opens what is stored is seen with the database. */
export async function checkSecretKey(
  { secretKeys, databaseUrl, dataDir }: Where,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('SECRET_KEY'))
    return [skipped('secret_key', 'not looked at: SECRET_KEY is wrong')];
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
        'SECRET_KEY is not set, and with DATABASE_URL it must be',
        'set it to the output of: openssl rand -base64 32, once, and keep it with your backups',
      ),
    ];
  return [await checkFile(join(dataDir, 'secret-key'))];
}

async function checkFile(file: string): Promise<Finding> {
  const read = await readSecretFile(file);
  if (read.kind === 'key') return ok('secret_key', `one key, in ${file}`);
  if (read.kind === 'none')
    return ok('secret_key', 'none yet; the first start of the service makes one');
  // The finding about the folder says what is wrong.
  if (read.kind === 'unreadable' && read.code === 'ENOTDIR')
    return skipped('secret_key', 'not looked at: DATA_DIR is no folder');
  return failed(
    'secret_key',
    read.kind === 'unreadable'
      ? `${file} cannot be read (${read.code})`
      : `${file} does not hold 32 bytes in base64`,
    'bring back the file from a backup: what it locked opens with nothing else',
  );
}

type Read =
  | { kind: 'key'; key: Buffer }
  | { kind: 'none' | 'damaged' }
  | { kind: 'unreadable'; code: string };

/** The key that the embedded database's installation has made for itself. Makes none. */
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
