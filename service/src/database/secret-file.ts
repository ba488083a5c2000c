/** Secrets that an installation generates and keeps next to its data. */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { StartError } from '../errors.ts';
import { unfinishedName } from './unfinished.ts';

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
