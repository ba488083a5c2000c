/** Encrypts every webhook's secrets and headers with the first key of SECRET_KEY, so that the other keys can be removed. */
import { sql, type Database, type Transaction } from '../../database/database.ts';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { urlOwner } from '../sending/chat-platforms.ts';
import { headersOwner } from '../sending/own-headers.ts';

export type Resealed = {
  /** Secrets that were encrypted again; a previous secret that is valid, the headers and the URL of a webhook count separately. */
  resealed: number;
  /** Secrets that used the first key already. */
  unchanged: number;
  /** Webhooks with a secret or headers that no key opens; these stay unchanged. */
  unreadable: string[];
};

/** Rows locked at once. */
const batchSize = 500;
const nothingBefore = '00000000-0000-0000-0000-000000000000';

/** Works in order of ids and in batches, each with its own commit, so that an interrupted run can continue. */
export async function resealSecrets(database: Database, secretBox: SecretBox): Promise<Resealed> {
  const done: Resealed = { resealed: 0, unchanged: 0, unreadable: [] };
  let after: string | null = nothingBefore;
  while (after !== null) after = await resealFrom(database, secretBox, after, done);
  return done;
}

function resealFrom(
  database: Database,
  secretBox: SecretBox,
  after: string,
  done: Resealed,
): Promise<string | null> {
  return database.transaction().execute((tx) => resealBatch(tx, secretBox, after, done));
}

type Sealed = {
  id: string;
  secret: Buffer;
  previous: Buffer | null;
  headers: Buffer | null;
  sealedUrl: Buffer | null;
};

/** Returns the last id; null at the end. */
async function resealBatch(
  tx: Transaction,
  secretBox: SecretBox,
  after: string,
  done: Resealed,
): Promise<string | null> {
  const { rows } = await sql<Sealed>`
    select id, secret, case when previous_secret_expires_at > now() then previous_secret end as previous, own_headers as headers, sealed_url as "sealedUrl" from webhooks
    where id > ${after} order by id limit ${batchSize} for update
  `.execute(tx);
  const changes = rows.flatMap((row) => resealOne(row, secretBox, done) ?? []);
  for (const { id, secret, previous, headers, sealedUrl } of changes) {
    // Leaves `updated_at` alone, because nothing changes that the owner could see.
    await sql`
      update webhooks set secret = ${secret}, own_headers = ${headers}, sealed_url = ${sealedUrl}, previous_secret = ${previous},
        previous_secret_expires_at = case when ${previous}::bytea is not null then previous_secret_expires_at end
      where id = ${id}
    `.execute(tx);
  }
  return rows.length < batchSize ? null : (rows.at(-1)?.id ?? null);
}

/** Null if there is nothing to write. */
function resealOne(row: Sealed, secretBox: SecretBox, done: Resealed): Sealed | null {
  const { id } = row;
  let changed = 0;
  let readable = true;
  const reseal = (sealed: Buffer, owner = id): Buffer => {
    if (secretBox.isNewest(sealed)) {
      done.unchanged += 1;
      return sealed;
    }
    try {
      const fresh = secretBox.seal(secretBox.open(sealed, owner), owner);
      changed += 1;
      return fresh;
    } catch {
      readable = false;
      return sealed;
    }
  };
  const secret = reseal(row.secret);
  const previous = row.previous && reseal(row.previous);
  const headers = row.headers && reseal(row.headers, headersOwner(id));
  const sealedUrl = row.sealedUrl && reseal(row.sealedUrl, urlOwner(id));
  if (!readable) done.unreadable.push(id);
  done.resealed += changed;
  return changed > 0 ? { id, secret, previous, headers, sealedUrl } : null;
}
