/** Reads the keys that encrypt webhook secrets: from the configuration, or generated with the embedded database. */
import { join } from 'node:path';
import type { Config } from './config.ts';
import { readOrCreateSecret } from './database/secret-file.ts';
import { StartError } from './errors.ts';

/** Newest first. Throws a `StartError` if there are none and none may be generated. */
export async function readSecretKeys(
  { secretKeys, dataDir }: Pick<Config, 'secretKeys' | 'dataDir'>,
  embedded: boolean,
): Promise<Buffer[]> {
  if (secretKeys) return secretKeys;
  if (embedded)
    return [Buffer.from(await readOrCreateSecret(join(dataDir, 'secret-key')), 'base64')];
  throw new StartError(
    'SECRET_KEY is required with DATABASE_URL: 32 bytes in base64, for example the output of: openssl rand -base64 32',
  );
}
