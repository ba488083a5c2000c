import { join } from 'node:path';
import type { Config } from '../config.ts';
import { sql, type Database } from '../database/database.ts';
import { createSecretBox, type SecretBox } from '../webhooks/sending/secrets.ts';
import { readSecretFile } from './check-secret-key.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

type Where = Pick<Config, 'secretKeys' | 'databaseUrl' | 'dataDir'>;
type Row = { id: string; secrets: Buffer[] };

const batchSize = 1_000;
/** So many are tried; decrypting them takes some seconds. */
const triedMax = 200_000;

/** Whether SECRET_KEY opens the secrets that webhooks are signed with. */
export async function checkStoredSecrets(
  database: Database,
  config: Where,
  faulty: ReadonlySet<string>,
): Promise<Finding> {
  const keys = faulty.has('SECRET_KEY') ? null : await keysOf(config);
  if (!keys)
    return skipped('stored_secrets', 'not looked at: there is no SECRET_KEY to open them with');
  const { tried, shut } = await tryAll(database, createSecretBox(keys));
  if (shut === 0)
    return ok('stored_secrets', `SECRET_KEY opens the secrets of all ${tried} webhooks`);
  return failed(
    'stored_secrets',
    `SECRET_KEY does not open the secrets of ${shut} of ${tried} webhooks, which are not delivered to`,
    'add the key that they were locked with to SECRET_KEY, after a comma; where it is lost, have their owners rotate the secret',
  );
}

async function keysOf({ secretKeys, databaseUrl, dataDir }: Where): Promise<Buffer[] | null> {
  if (secretKeys || databaseUrl !== null) return secretKeys;
  const read = await readSecretFile(join(dataDir, 'secret-key'));
  return read.kind === 'key' ? [read.key] : null;
}

async function tryAll(database: Database, box: SecretBox) {
  let last = '00000000-0000-0000-0000-000000000000';
  const count = { tried: 0, shut: 0 };
  for (;;) {
    const { rows } = await sql<Row>`
      select id, array_remove(array[secret,
        case when previous_secret_expires_at > now() then previous_secret end], null) as secrets
      from webhooks where id > ${last} order by id limit ${batchSize}
    `.execute(database);
    for (const { id, secrets } of rows) {
      count.tried += 1;
      if (!secrets.every((secret) => opens(box, secret, id))) count.shut += 1;
    }
    last = rows.at(-1)?.id ?? last;
    if (rows.length < batchSize || count.tried >= triedMax) return count;
  }
}

function opens(box: SecretBox, secret: Buffer, id: string): boolean {
  try {
    box.open(secret, id);
    return true;
  } catch {
    return false;
  }
}
