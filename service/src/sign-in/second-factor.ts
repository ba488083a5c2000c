/**
 * What somebody does with the second factor of their own account: passkeys, an authenticator app and recovery codes. Each
 * change is written to the audit log in its own transaction, with the mail to the owner.
 */
import type { Actor } from '../access/actor.ts';
import { normaliseEmail } from '../access/email.ts';
import { quoteName } from '../contract/texts.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import type { SecretBox } from '../runtime/secret-box.ts';
import type { AccountMail } from './account-mail.ts';
import { recordActivity, type Account, type SignedInAccount } from './activity.ts';
import {
  checkCode,
  readAuthenticator,
  removeAuthenticator,
  setUpAuthenticator,
  useCode,
} from './authenticators.ts';
import {
  deletePasskey,
  insertPasskey,
  listPasskeys,
  renamePasskey,
  type NewCredential,
  type Passkey,
  type Passkeys,
} from './passkeys.ts';
import { countRecoveryCodes, createRecoveryCodes } from './recovery-codes.ts';
import { proveSession, userHasFactor } from './session-proof.ts';
import { endSessions, lockSignedIn } from './sessions.ts';

type Factors = {
  passkeys: Passkey[];
  authenticator: { addedAt: Date } | null;
  recoveryCodesLeft: number;
};
/** Recovery codes come with the first factor; null: there are some already. */
type NewRecoveryCodes = { recoveryCodes: string[] | null };

type Dependencies = {
  database: Database;
  serviceName: string;
  secretBox: SecretBox;
  passkeys: Passkeys;
  mail: AccountMail;
};

export async function listFactors(database: Database, userId: string): Promise<Factors> {
  const [passkeys, addedAt, recoveryCodesLeft] = await Promise.all([
    listPasskeys(database, userId),
    readAuthenticator(database, userId),
    countRecoveryCodes(database, userId),
  ]);
  return { passkeys, authenticator: addedAt && { addedAt }, recoveryCodesLeft };
}

/** Devices of one person. */
const passkeysMax = 20;

export class SecondFactor {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Throws `validation_failed` if the browser's response proves nothing, and `conflict`. */
  async addPasskey(
    account: SignedInAccount,
    { name, credential }: { name: string; credential: NewCredential },
  ): Promise<NewRecoveryCodes> {
    const { passkeys, mail } = this.#dependencies;
    const verified = await passkeys.verifyRegistration(credential, account.sessionId);
    if (verified === null)
      throw invalid({ path: 'body.credential', message: 'is not valid; start again' });
    return this.#addFactor(account, async (tx) => {
      if ((await listPasskeys(tx, account.id)).length >= passkeysMax)
        throw new ServiceError(
          'conflict',
          `You can have at most ${passkeysMax} passkeys. Remove one first.`,
        );
      if (!(await insertPasskey(tx, account.id, name, verified)))
        throw new ServiceError('conflict', 'This passkey is already registered.');
      await recordActivity(tx, 'account.passkey_added', account, { name });
      const change = `The passkey ${quoteName(name)} was added: it signs in to your account.`;
      await mail.notice(tx, account.email, change);
    });
  }

  /** Throws `not_found`. */
  async renamePasskey(
    account: Account,
    { passkeyId, name }: { passkeyId: string; name: string },
  ): Promise<void> {
    await this.#inTransaction(async (tx) => {
      if (!(await renamePasskey(tx, { userId: account.id, passkeyId, name })))
        throw new ServiceError('not_found');
      await recordActivity(tx, 'account.passkey_renamed', account, { name });
    });
  }

  /** Ends all other sessions. Throws `not_found`. */
  async removePasskey(account: SignedInAccount, passkeyId: string): Promise<void> {
    await this.#removeFactor(account, async (tx) => {
      const name = await deletePasskey(tx, account.id, passkeyId);
      if (name === null) throw new ServiceError('not_found');
      await recordActivity(tx, 'account.passkey_removed', account, { name });
      return `The passkey ${quoteName(name)} was removed from your account, and all your other sessions were ended.`;
    });
  }

  /** The secret, as text and as an address for a QR code. It counts once a code is confirmed. Throws `conflict`. */
  async setUpAuthenticator({ id, email }: Account): Promise<{ secret: string; uri: string }> {
    const { database, secretBox, serviceName } = this.#dependencies;
    const secret = await setUpAuthenticator(database, secretBox, id);
    if (secret === null)
      throw new ServiceError('conflict', 'You already have an authenticator app. Remove it first.');
    const label = `${encodeURIComponent(serviceName)}:${encodeURIComponent(email)}`;
    const query = new URLSearchParams({ secret, issuer: serviceName });
    return { secret, uri: `otpauth://totp/${label}?${query.toString()}` };
  }

  /** Throws `validation_failed` for a wrong code, `rate_limited` after many, and `conflict` if nothing was set up. */
  async confirmAuthenticator(account: SignedInAccount, code: string): Promise<NewRecoveryCodes> {
    const { database, secretBox, mail } = this.#dependencies;
    const attempt = { userId: account.id, code, confirmed: false };
    const checked = await checkCode(database, secretBox, attempt);
    if (checked === null)
      throw new ServiceError('conflict', 'No authenticator app is being set up. Start again.');
    if ('wrong' in checked) throw wrongCode();
    return this.#addFactor(account, async (tx) => {
      if (!(await useCode(tx, account.id, checked))) throw wrongCode();
      await recordActivity(tx, 'account.authenticator_added', account);
      await mail.notice(tx, account.email, 'An authenticator app was added to your account.');
    });
  }

  /** Ends all other sessions. Throws `not_found`. */
  async removeAuthenticator(account: SignedInAccount): Promise<void> {
    await this.#removeFactor(account, async (tx) => {
      if (!(await removeAuthenticator(tx, account.id))) throw new ServiceError('not_found');
      await recordActivity(tx, 'account.authenticator_removed', account);
      return 'The authenticator app was removed from your account, and all your other sessions were ended.';
    });
  }

  /** Replaces earlier codes. Throws `conflict` without a second factor. */
  async createRecoveryCodes(account: SignedInAccount): Promise<string[]> {
    return this.#inTransaction(async (tx) => {
      await lockSignedIn(tx, account);
      if (!(await userHasFactor(tx, account.id)))
        throw new ServiceError('conflict', 'Add a passkey or an authenticator app first.');
      await recordActivity(tx, 'account.recovery_codes_created', account);
      const change =
        'New recovery codes were created for your account. The earlier ones no longer work.';
      await this.#dependencies.mail.notice(tx, account.email, change);
      return createRecoveryCodes(tx, account.id);
    });
  }

  /** The session that adds a factor has proved it. */
  #addFactor(
    account: SignedInAccount,
    add: (tx: Transaction) => Promise<void>,
  ): Promise<NewRecoveryCodes> {
    const { id, sessionId } = account;
    return this.#inTransaction(async (tx) => {
      await lockSignedIn(tx, account);
      await add(tx);
      await proveSession(tx, { id: sessionId }, { secondFactor: true });
      const hasCodes = (await countRecoveryCodes(tx, id)) > 0;
      return { recoveryCodes: hasCodes ? null : await createRecoveryCodes(tx, id) };
    });
  }

  /**
   * Whoever signed in with it is signed out with it. Recovery codes go with the last factor. `remove` returns what the
   * owner is told.
   */
  #removeFactor(
    account: SignedInAccount,
    remove: (tx: Transaction) => Promise<string>,
  ): Promise<void> {
    const { id, sessionId } = account;
    return this.#inTransaction(async (tx) => {
      await lockSignedIn(tx, account);
      const change = await remove(tx);
      await endSessions(tx, id, sessionId);
      if (!(await userHasFactor(tx, id)))
        await sql`delete from recovery_codes where user_id = ${id}`.execute(tx);
      await this.#dependencies.mail.notice(tx, account.email, change);
    });
  }

  #inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#dependencies.database.transaction().execute(work);
  }
}

/**
 * For an operator, when somebody has lost their second factor (`orgdir accounts remove-second-factor`): removes all of it
 * and ends all sessions. Returns the address of the account. Throws `not_found`.
 */
export async function removeSecondFactor(
  tx: Transaction,
  actor: Actor,
  given: string,
): Promise<{ email: string; passkeys: number; authenticator: boolean; endedSessions: number }> {
  const email = normaliseEmail(given);
  const { rows } = await sql<{ id: string }>`
    select id from users where email = ${email} for update
  `.execute(tx);
  const [user] = rows;
  if (!user) throw new ServiceError('not_found', `There is no account with the address ${email}.`);
  const { rows: passkeys } = await sql`
    delete from passkeys where user_id = ${user.id} returning 1
  `.execute(tx);
  const authenticator = await removeAuthenticator(tx, user.id);
  await sql`delete from recovery_codes where user_id = ${user.id}`.execute(tx);
  const endedSessions = await endSessions(tx, user.id, null);
  const removed = { passkeys: passkeys.length, authenticator, endedSessions };
  const account = { id: user.id, email };
  await recordActivity(tx, 'account.second_factor_removed', account, { actor, ...removed });
  return { email, ...removed };
}

function wrongCode(): ServiceError {
  return invalid({ path: 'body.code', message: 'is wrong' });
}
