/** Encrypts the secrets of authenticator apps with the first key of SECRET_KEY, so that the other keys can be removed. */
import { sql, type Database, type Transaction } from '../database/database.ts';
import type { SecretBox } from '../runtime/secret-box.ts';

type ResealedAuthenticators = {
  resealed: number;
  unchanged: number;
  /** Addresses of accounts whose secret no key opens; it stays unchanged. */
  unreadable: string[];
};

/** Rows locked at once. */
const batchSize = 500;
const nothingBefore = '00000000-0000-0000-0000-000000000000';

/** Works in order of ids and in batches, each with its own commit, so that an interrupted run can continue. */
export async function resealAuthenticators(
  database: Database,
  secretBox: SecretBox,
): Promise<ResealedAuthenticators> {
  const done: ResealedAuthenticators = { resealed: 0, unchanged: 0, unreadable: [] };
  let after: string | null = nothingBefore;
  while (after !== null) {
    const last: string = after;
    after = await database.transaction().execute((tx) => resealBatch(tx, secretBox, last, done));
  }
  return done;
}

/** Returns the last id; null at the end. */
async function resealBatch(
  tx: Transaction,
  secretBox: SecretBox,
  after: string,
  done: ResealedAuthenticators,
): Promise<string | null> {
  const { rows } = await sql<{ userId: string; email: string; secret: Buffer }>`
    select a.user_id as "userId", u.email, a.secret from authenticators a join users u on u.id = a.user_id
    where a.user_id > ${after} order by a.user_id limit ${batchSize} for update of a
  `.execute(tx);
  for (const { userId, email, secret } of rows) {
    const opened = secretBox.isNewest(secret) ? null : open(secretBox, secret, userId);
    if (opened === null) done.unchanged += 1;
    else if (opened === undefined) done.unreadable.push(email);
    else {
      done.resealed += 1;
      await sql`
        update authenticators set secret = ${secretBox.seal(opened, userId)} where user_id = ${userId}
      `.execute(tx);
    }
  }
  return rows.length < batchSize ? null : (rows.at(-1)?.userId ?? null);
}

function open(secretBox: SecretBox, secret: Buffer, userId: string): string | undefined {
  try {
    return secretBox.open(secret, userId);
  } catch {
    return undefined;
  }
}
