/**
 * How somebody who is signed in proves who they are: with a second factor to complete a sign-in, and again before
 * sensitive changes, when their last proof is not recent. A provider's redirect is no proof: the provider may not have
 * asked anything.
 */
import { randomInt } from 'node:crypto';
import { type Database, type Transaction, sql } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { SecretBox } from '../runtime/secret-box.ts';
import type { AccountMail } from './account-mail.ts';
import { type Account, type SignedInAccount, recordActivity } from './activity.ts';
import { checkCode, useCode } from './authenticators.ts';
import type { Assertion, Passkeys } from './passkeys.ts';
import { isProviderIdentity } from './provider-identity.ts';
import { takeRecoveryCode } from './recovery-codes.ts';
import { proveSession } from './session-proof.ts';
import { readPassword } from './set-password.ts';
import { digest } from './token.ts';

const proofMethods = ['passkey', 'authenticator', 'password', 'mail'] as const;
type ProofMethod = (typeof proofMethods)[number];

type Dependencies = {
  database: Database;
  secretBox: SecretBox;
  passkeys: Passkeys;
  mail: AccountMail;
  /** Whether codes can be sent. */
  hasMail: boolean;
  verify: (given: { hash: string; password: string }) => Promise<boolean>;
};

export class Proofs {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** What this account can confirm with. */
  async methods({ id, email }: Account): Promise<ProofMethod[]> {
    const { database, hasMail } = this.#dependencies;
    const { rows } = await sql<Record<'passkey' | 'authenticator' | 'password', boolean>>`
      select exists (select from passkeys where user_id = ${id}) as passkey,
        exists (select from authenticators where user_id = ${id} and confirmed_at is not null) as authenticator,
        exists (select from accounts where user_id = ${id} and provider_id = 'credential') as password
    `.execute(database);
    const has = { ...rows[0], mail: hasMail && !isProviderIdentity(email) };
    return proofMethods.filter((method) => has[method]);
  }

  /** Mails a code. Throws `conflict` if this account gets no mail. */
  async sendCode({ email, sessionId }: SignedInAccount): Promise<void> {
    const { database, mail, hasMail } = this.#dependencies;
    if (!hasMail || isProviderIdentity(email))
      throw new ServiceError('conflict', 'This account has no address that gets mail.');
    mail.requireRoom('link');
    mail.code(email, await createConfirmationCode(database, sessionId));
  }

  /** These return false if the proof is wrong. */
  async withMailedCode(account: SignedInAccount, code: string): Promise<boolean> {
    const isRight = await takeConfirmationCode(
      this.#dependencies.database,
      account.sessionId,
      code,
    );
    return isRight && this.#prove(account, { secondFactor: false });
  }

  async withPassword(account: SignedInAccount, password: string): Promise<boolean> {
    const { database, verify } = this.#dependencies;
    const hash = await readPassword(database, account.email);
    if (hash === null || !(await verify({ hash, password }))) return false;
    return this.#prove(account, { secondFactor: false });
  }

  async withPasskey(account: SignedInAccount, assertion: Assertion): Promise<boolean> {
    const found = await this.#dependencies.passkeys.verifyAssertion(assertion, account.sessionId);
    return found?.userId === account.id && this.#prove(account, { secondFactor: true });
  }

  /** `record`: what else to do with the right code. */
  async withAuthenticator(
    account: SignedInAccount,
    code: string,
    record: (tx: Transaction) => Promise<void> = async () => {},
  ): Promise<boolean> {
    const { database, secretBox, mail } = this.#dependencies;
    // By itself: it stays counted, also if the notice cannot be stored.
    const checked = await checkCode(database, secretBox, { userId: account.id, code });
    if (checked && 'wrong' in checked && checked.reached)
      await database.transaction().execute((tx) => mail.notice(tx, account.email, manyWrongCodes));
    if (checked === null || 'wrong' in checked) return false;
    return database.transaction().execute(async (tx) => {
      if (!(await useCode(tx, account.id, checked))) return false;
      await record(tx);
      await proveFactor(tx, account);
      return true;
    });
  }

  /** Completes a sign-in with a code of the authenticator app, or with a recovery code. */
  async completeSignIn(account: SignedInAccount, code: string): Promise<boolean> {
    if (/^[\s-]*\d[\d\s-]*$/.test(code))
      return this.withAuthenticator(account, code, (tx) =>
        recordActivity(tx, 'account.signed_in', account, { method: 'authenticator' }),
      );
    return this.#withRecoveryCode(account, code);
  }

  async #withRecoveryCode(account: SignedInAccount, code: string): Promise<boolean> {
    const { database, mail } = this.#dependencies;
    return database.transaction().execute(async (tx) => {
      const codesLeft = await takeRecoveryCode(tx, account.id, code);
      if (codesLeft === null) return false;
      const details = { method: 'recovery_code', codesLeft };
      await recordActivity(tx, 'account.signed_in', account, details);
      await proveFactor(tx, account);
      const used = `A recovery code was used to sign in to your account. It no longer works; ${codesLeft} are left.`;
      await mail.notice(tx, account.email, used);
      return true;
    });
  }

  #prove({ sessionId }: SignedInAccount, proof: { secondFactor: boolean }): Promise<boolean> {
    return proveSession(this.#dependencies.database, { id: sessionId }, proof);
  }
}

/** Throws `unauthorized` if the session has ended meanwhile: then the code is not used up either. */
async function proveFactor(tx: Transaction, { sessionId }: SignedInAccount): Promise<void> {
  if (!(await proveSession(tx, { id: sessionId }, { secondFactor: true })))
    throw new ServiceError('unauthorized', 'Sign in first.');
}

const manyWrongCodes =
  'Somebody who knows your password, or has a session of yours, entered ten wrong codes of your authenticator app. No further codes are accepted for an hour; a passkey and recovery codes still work.';

const minutesValid = 10;
const triesMax = 5;
const digits = 8;

/** Replaces an earlier code of the session. */
async function createConfirmationCode(database: Database, sessionId: string): Promise<string> {
  const code = String(randomInt(10 ** digits)).padStart(digits, '0');
  await sql`
    insert into confirmation_codes (session_id, hash, expires_at)
    values (${sessionId}, ${hashOf(sessionId, code)}, now() + ${minutesValid} * interval '1 minute')
    on conflict (session_id) do update set hash = excluded.hash, expires_at = excluded.expires_at, tries = 0
  `.execute(database);
  return code;
}

/** Uses the code up if it is right; otherwise counts the try. */
async function takeConfirmationCode(
  database: Database,
  sessionId: string,
  code: string,
): Promise<boolean> {
  // Counted before the comparison, so that parallel guesses do not exceed the limit.
  const { rows } = await sql<{ hash: Buffer }>`
    update confirmation_codes set tries = tries + 1
    where session_id = ${sessionId} and expires_at > now() and tries < ${triesMax} returning hash
  `.execute(database);
  const hash = hashOf(sessionId, code);
  if (!rows[0]?.hash.equals(hash)) return false;
  const { rows: taken } = await sql`
    delete from confirmation_codes where session_id = ${sessionId} and hash = ${hash} returning 1
  `.execute(database);
  return taken.length > 0;
}

function hashOf(sessionId: string, code: string): Buffer {
  return digest(`${sessionId} ${code.replaceAll(/\D/g, '')}`);
}
