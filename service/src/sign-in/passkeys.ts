/**
 * Passkeys (WebAuthn): a key pair on a device, which asks for a fingerprint, a face or a PIN. That makes a passkey two
 * factors, so it signs in alone. The library is loaded when somebody first uses one.
 */
import { randomBytes } from 'node:crypto';
import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { NewPasskey, PasskeyAssertion } from '../contract/second-factor.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { digest } from './token.ts';

export type Passkey = { id: string; name: string; createdAt: Date; lastUsedAt: Date | null };
/** What the browser returns for a new passkey. */
export type NewCredential = Static<typeof NewPasskey>['credential'];
/** What the browser returns for an existing passkey. */
export type Assertion = Static<typeof PasskeyAssertion>['credential'];
type VerifiedCredential = {
  credentialId: string;
  publicKey: Uint8Array;
  counter: number;
};

type PasskeyDependencies = { database: Database; publicUrl: string; serviceName: string };
type Registrant = { id: string; email: string; sessionId: string };

/** Time for the user to find their device. */
const challengeMs = 300_000;
const rowsSwept = 500;
/** EdDSA, ES256 and RS256: what authenticators have. The library's default tries Node's experimental algorithms too. */
const supportedAlgorithmIDs = [-8, -7, -257];

const load = () => import('@simplewebauthn/server');

export class Passkeys {
  readonly #database: Database;
  readonly #serviceName: string;
  readonly #origin: string;
  readonly #rpID: string;

  constructor({ database, publicUrl, serviceName }: PasskeyDependencies) {
    this.#database = database;
    this.#serviceName = serviceName;
    ({ origin: this.#origin, hostname: this.#rpID } = new URL(publicUrl));
  }

  /** For the browser's `navigator.credentials.create`. */
  async registrationOptions({ id, email, sessionId }: Registrant): Promise<object> {
    const { generateRegistrationOptions } = await load();
    return generateRegistrationOptions({
      rpName: this.#serviceName,
      rpID: this.#rpID,
      userName: email,
      userID: Uint8Array.from(Buffer.from(id.replaceAll('-', ''), 'hex')),
      challenge: await createChallenge(this.#database, sessionId),
      timeout: challengeMs,
      excludeCredentials: await listCredentials(this.#database, id),
      supportedAlgorithmIDs,
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
  }

  /** Null if it proves nothing. */
  async verifyRegistration(
    { id, ...response }: NewCredential,
    sessionId: string,
  ): Promise<VerifiedCredential | null> {
    const challenge = await takeChallenge(this.#database, response.clientDataJSON, sessionId);
    if (challenge === null) return null;
    const { verifyRegistrationResponse } = await load();
    const verify = async () =>
      verifyRegistrationResponse({
        response: {
          ...credential(id),
          response: { ...response, attestationObject: await withoutStatement(response) },
        },
        expectedChallenge: challenge,
        expectedOrigin: this.#origin,
        expectedRPID: this.#rpID,
        requireUserVerification: true,
        supportedAlgorithmIDs,
      });
    const { verified, registrationInfo } = await verify().catch(() => nothingVerified);
    if (!verified || !registrationInfo) return null;
    const { id: credentialId, publicKey, counter } = registrationInfo.credential;
    return { credentialId, publicKey, counter };
  }

  /** For the browser's `navigator.credentials.get`. `sessionId`: of the session that confirms; null to sign in. */
  async requestOptions(sessionId: string | null): Promise<object> {
    const { generateAuthenticationOptions } = await load();
    return generateAuthenticationOptions({
      rpID: this.#rpID,
      challenge: await createChallenge(this.#database, sessionId),
      timeout: challengeMs,
      userVerification: 'required',
    });
  }

  /** Whose passkey it is; null if it proves nothing. */
  async verifyAssertion(
    { id, ...response }: Assertion,
    sessionId: string | null,
  ): Promise<{ passkeyId: string; userId: string } | null> {
    const challenge = await takeChallenge(this.#database, response.clientDataJSON, sessionId);
    const stored = challenge === null ? null : await readCredential(this.#database, id);
    if (challenge === null || stored === null) return null;
    const { verifyAuthenticationResponse } = await load();
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...credential(id), response },
      expectedChallenge: challenge,
      expectedOrigin: this.#origin,
      expectedRPID: this.#rpID,
      credential: { id, publicKey: Uint8Array.from(stored.publicKey), counter: stored.counter },
      requireUserVerification: true,
    }).catch(() => nothingVerified);
    // With a wrong signature the library returns the rest all the same.
    if (!verified || !authenticationInfo) return null;
    const isCurrent = await updateCounter(this.#database, stored.id, authenticationInfo.newCounter);
    return isCurrent ? { passkeyId: stored.id, userId: stored.userId } : null;
  }
}

const nothingVerified = { verified: false, registrationInfo: null, authenticationInfo: null };

/**
 * What a device says of its maker is not asked for, and must not reach the library: to check it, it would get lists of revoked
 * certificates from any address that the caller's own certificates name, inside the operator's network too.
 */
async function withoutStatement({ attestationObject }: { attestationObject: string }) {
  const { decodeAttestationObject, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const given = decodeAttestationObject(
    Uint8Array.from(Buffer.from(attestationObject, 'base64url')),
  );
  const bare = isoCBOR.encode(
    new Map<string, string | Map<string, never> | Uint8Array>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', given.get('authData')],
    ]),
  );
  return Buffer.from(bare).toString('base64url');
}

function credential(id: string) {
  return { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} };
}

async function createChallenge(
  database: Database,
  sessionId: string | null,
): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = randomBytes(32);
  await sql`
    with expired as (
      delete from passkey_challenges
      where hash in (select hash from passkey_challenges where expires_at <= now() limit ${rowsSwept})
    )
    insert into passkey_challenges (hash, session_id, expires_at)
    values (${digest(challenge.toString('base64url'))}, ${sessionId}, now() + ${challengeMs} * interval '1 millisecond')
  `.execute(database);
  return Uint8Array.from(challenge);
}

/** Uses up the challenge that the browser signed, and returns it; null if it was not created for this session. */
async function takeChallenge(
  database: Database,
  clientDataJSON: string,
  sessionId: string | null,
): Promise<string | null> {
  const challenge = challengeIn(clientDataJSON);
  const { rows } = await sql`
    delete from passkey_challenges
    where hash = ${digest(challenge)} and session_id is not distinct from ${sessionId}::uuid and expires_at > now()
    returning 1
  `.execute(database);
  return rows.length > 0 ? challenge : null;
}

/** Empty if the text is anything else than what a browser writes. */
function challengeIn(clientDataJSON: string): string {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
    const { challenge } = data as { challenge?: unknown };
    return typeof challenge === 'string' ? challenge : '';
  } catch {
    return '';
  }
}

type StoredCredential = { id: string; userId: string; publicKey: Buffer; counter: number };

async function readCredential(database: Database, id: string): Promise<StoredCredential | null> {
  const { rows } = await sql<StoredCredential>`
    select id, user_id as "userId", public_key as "publicKey", counter from passkeys where credential_id = ${id}
  `.execute(database);
  return rows[0] ?? null;
}

/** Returns false if the counter does not increase: the passkey was copied, or removed meanwhile. */
async function updateCounter(database: Database, id: string, counter: number): Promise<boolean> {
  const { rows } = await sql`
    update passkeys set counter = ${counter}, last_used_at = now()
    where id = ${id} and (counter < ${counter} or (counter = 0 and ${counter} = 0)) returning 1
  `.execute(database);
  return rows.length > 0;
}

async function listCredentials(executor: Executor, userId: string): Promise<{ id: string }[]> {
  const { rows } = await sql<{ id: string }>`
    select credential_id as id from passkeys where user_id = ${userId}
  `.execute(executor);
  return rows;
}

/** Oldest first. */
export async function listPasskeys(executor: Executor, userId: string): Promise<Passkey[]> {
  const { rows } = await sql<Passkey>`
    select id, name, created_at as "createdAt", last_used_at as "lastUsedAt" from passkeys
    where user_id = ${userId} order by created_at, id
  `.execute(executor);
  return rows;
}

/** Returns false if the credential is registered already. */
export async function insertPasskey(
  tx: Transaction,
  userId: string,
  name: string,
  { credentialId, publicKey, counter }: VerifiedCredential,
): Promise<boolean> {
  const { rows } = await sql`
    insert into passkeys (id, user_id, name, credential_id, public_key, counter)
    values (${uuidv7()}, ${userId}, ${name}, ${credentialId}, ${Buffer.from(publicKey)}, ${counter})
    on conflict (credential_id) do nothing returning 1
  `.execute(tx);
  return rows.length > 0;
}

/** Returns false if there is no such passkey of this user. */
export async function renamePasskey(
  tx: Transaction,
  { userId, passkeyId, name }: { userId: string; passkeyId: string; name: string },
): Promise<boolean> {
  const { rows } = await sql`
    update passkeys set name = ${name} where id = ${passkeyId} and user_id = ${userId} returning 1
  `.execute(tx);
  return rows.length > 0;
}

/** Returns its name; null if there is no such passkey of this user. */
export async function deletePasskey(
  tx: Transaction,
  userId: string,
  passkeyId: string,
): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`
    delete from passkeys where id = ${passkeyId} and user_id = ${userId} returning name
  `.execute(tx);
  return rows[0]?.name ?? null;
}
