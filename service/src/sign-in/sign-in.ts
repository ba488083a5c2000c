/**
 * Who is signed in to the portal, and how they sign in. better-auth does the work of sessions, password checks and
 * providers (`auth.ts`); it is loaded when somebody first comes with a session or to sign in, because it is a good part
 * of the memory of a service at rest. What somebody may do with their apps is decided in `access/`.
 */
import { hkdfSync } from 'node:crypto';
import type { Config } from '../settings/config.ts';
import { type Database, sql, type Transaction, unavailable } from '../database/database.ts';
import type { Logger } from '../runtime/log.ts';
import type { Mailer } from '../runtime/mail.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { SecretBox } from '../runtime/secret-box.ts';
import { Accounts } from './accounts.ts';
import { AccountMail } from './account-mail.ts';
import type { Auth, PasswordHashing } from './auth.ts';
import { createBeginSession, throwWithoutDetails } from './begin-session.ts';
import { type Caller, headersOf } from './caller.ts';
import { createFailedSignIns } from './failed-sign-ins.ts';
import { offerFirstAccount } from './password-links.ts';
import { Passkeys } from './passkeys.ts';
import { Proofs } from './proofs.ts';
import { createKnownDevices } from './known-devices.ts';
import { createProviderSignIn } from './provider-sign-in.ts';
import { SecondFactor } from './second-factor.ts';
import { type SessionProof, readSessionProof } from './session-proof.ts';
import { Loop } from '../loop.ts';

export type SignInDependencies = Pick<Config, 'publicUrl' | 'serviceName' | 'signIn'> & {
  database: Database;
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
  secretBox: SecretBox;
  /** Null: links are printed on the terminal, or there are none (`config.signIn.printLinks`). */
  mailer: Mailer | null;
  metrics: Pick<Metrics, 'signedIn'>;
  print: (line: string) => void;
  log: Logger;
  /** Tests replace it by one that takes no time. */
  hashing?: PasswordHashing;
};

/** A session with `missingFactor` opens nothing but its completion. */
export type SignedIn = SessionProof & {
  sessionId: string;
  userId: string;
  name: string;
  /** An address, or the name that a provider gives somebody without a verified one (`provider-identity.ts`). */
  email: string;
  image: string | null;
  expiresAt: Date;
};

export type SignIn = ReturnType<typeof createSignIn>;

/** As `auth.ts` names it; other cookies of the same host mean nothing here. */
const sessionCookie = /(?:^|;\s*)(?:__Host-)?orgdir\.session_token=/;

export function createSignIn(dependencies: SignInDependencies) {
  const { database, publicUrl, signIn, mailer, metrics, log } = dependencies;
  /** Where links that set a password go. Null: there are none. */
  const links: 'mail' | 'terminal' | null = mailer ? 'mail' : signIn.printLinks ? 'terminal' : null;
  const secret = deriveSecret(dependencies.secretKeys);
  const devices = createKnownDevices(secret, publicUrl.startsWith('https:'));
  const failed = createFailedSignIns(database, log);
  const turn = async () => ((await sweep(database)) ? 0 : everyMs);
  const sweeper = new Loop({ name: 'sign-in sweep', log, turn });
  const mail = new AccountMail(dependencies);
  const passkeys = new Passkeys(dependencies);
  const passwords = passwordsOf(load);
  const proving = { ...passwords, passkeys, mail, hasMail: links !== null };
  const byProvider = createProviderSignIn(signIn, { database, devices, metrics, load });
  const { providers } = byProvider;
  const accounts = new Accounts({ ...passwords, database, publicUrl, providers, mail });
  const secondFactor = new SecondFactor({ ...dependencies, passkeys, mail });
  const proofs = new Proofs({ ...dependencies, ...proving });
  let loading: Promise<Auth> | undefined;

  function load(): Promise<Auth> {
    loading ??= import('./auth.ts').then(({ createAuth }) =>
      createAuth({ ...dependencies, secret, notifyMethodAdded }),
    );
    return loading;
  }

  function notifyMethodAdded(tx: Transaction, email: string, provider: string): Promise<void> {
    return accounts.notifyMethodAdded(tx, email, provider);
  }

  return {
    ...byProvider,
    ...sessionsOf(database, { ...signIn, hasMail: links !== null }, load),
    ...createBeginSession({ database, load, devices, failed, passkeys, proofs, metrics }),
    links,
    accounts,
    mail,
    passkeys,
    secondFactor,
    proofs,
    /** A link that creates the first account while there is none; else null. */
    offerFirstAccount: () => offerFirstAccount(database, publicUrl),
    /** Starts to delete what has expired. */
    start: () => sweeper.start(),
    /** Writes what is counted so far. May be called twice. */
    async stop() {
      await sweeper.stop();
      await failed.flush();
    },
    /** The id of a browser that has signed in with this address before, or null. */
    knownDevice: ({ cookie }: Caller, email: string) => devices.recognise(cookie, email),
  };
}

function sessionsOf(
  database: Database,
  proofRules: Parameters<typeof readSessionProof>[2],
  load: () => Promise<Auth>,
) {
  return {
    /** Who sends these cookies, or null; and the cookies to send back if the session is prolonged or has ended. */
    async read(cookie: string): Promise<{ signedIn: SignedIn | null; cookies: string[] }> {
      // Without this cookie nobody is signed in, and nothing has to be loaded or read to find out.
      if (!sessionCookie.test(cookie)) return { signedIn: null, cookies: [] };
      const { api } = await load();
      // Whatever is in a cookie, the only thing that can fail is the database.
      const { response, headers } = await api
        .getSession({ headers: new Headers({ cookie }), returnHeaders: true })
        .catch(throwUnavailable);
      const proof =
        response &&
        (await readSessionProof(database, response.session.id, proofRules).catch(throwUnavailable));
      const signedIn = response && proof && { ...toUser(response), ...proof };
      return { signedIn, cookies: headers.getSetCookie() };
    },

    /** Ends the session of these cookies, and returns those that clear it. */
    async signOut(caller: Caller): Promise<string[]> {
      const { api } = await load();
      const { headers } = await api
        .signOut({ headers: headersOf(caller), returnHeaders: true })
        .catch(throwWithoutDetails);
      return headers.getSetCookie();
    },
  };
}

/** Hashes and verifies as better-auth is configured to. */
function passwordsOf(load: () => Promise<Auth>) {
  const hashing = async () => (await (await load()).$context).password;
  return {
    hash: async (password: string) => (await hashing()).hash(password),
    verify: async (given: { hash: string; password: string }) => (await hashing()).verify(given),
  };
}

function throwUnavailable(error: unknown): never {
  throw unavailable(error);
}

type Found = NonNullable<Awaited<ReturnType<Auth['api']['getSession']>>>;

function toUser({ user, session }: Found): Omit<SignedIn, keyof SessionProof> {
  return {
    sessionId: session.id,
    userId: user.id,
    name: user.name,
    email: user.email,
    image: user.image ?? null,
    expiresAt: session.expiresAt,
  };
}

/**
 * What signs the cookies and links of sign-in, from the first key of SECRET_KEY, so that one secret is enough to keep.
 * Another first key ends the sessions; accounts and passwords do not hang on it.
 */
function deriveSecret([newest]: readonly Buffer[]): string {
  if (!newest) throw new Error('sign-in needs a key');
  return Buffer.from(hkdfSync('sha256', newest, '', 'orgdir sign-in v1', 32)).toString('base64');
}

const rowsMax = 500;
const everyMs = 600_000;

/** Returns whether there may be more. */
async function sweep(database: Database): Promise<boolean> {
  const { rows } = await sql<{ more: boolean }>`
    with ended as (
      delete from sessions where id in (select id from sessions where expires_at <= now() limit ${rowsMax} for update skip locked) returning 1
    ),
    unfinished as (
      delete from verifications where id in (select id from verifications where expires_at <= now() limit ${rowsMax} for update skip locked)
      returning 1
    ),
    unconfirmed as (
      delete from address_changes where user_id in (
        select user_id from address_changes where expires_at <= now() limit ${rowsMax} for update skip locked
      ) returning 1
    ),
    expired as (
      delete from app_invitations where id in (select id from app_invitations where expires_at <= now() limit ${rowsMax} for update skip locked)
      returning 1
    ),
    unused as (
      delete from password_links where email in (
        select email from password_links where expires_at <= now() limit ${rowsMax} for update skip locked
      ) returning 1
    )
    select greatest(
      (select count(*) from ended), (select count(*) from unfinished), (select count(*) from unconfirmed),
      (select count(*) from expired), (select count(*) from unused)
    ) >= ${rowsMax} as more
  `.execute(database);
  return rows[0]?.more ?? false;
}
