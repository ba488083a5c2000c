/** Begins sessions: with a password, a passkey, or the second factor that a session still misses. */
import { normaliseEmail } from '../access/email.ts';
import { type Database, isTemporary } from '../database/database.ts';
import type { Auth } from './auth.ts';
import { type Caller, headersOf } from './caller.ts';
import type { FailedSignIns } from './failed-sign-ins.ts';
import type { KnownDevices } from './known-devices.ts';
import type { Assertion, Passkeys } from './passkeys.ts';
import type { Proofs } from './proofs.ts';
import { confirmPasskeySession, proveSession, userHasFactor } from './session-proof.ts';
import { confirmSession, readPassword } from './set-password.ts';
import { ServiceError } from '../errors.ts';
import type { Metrics, SignInMethod } from '../runtime/metrics.ts';

/** A session that misses its second factor. */
type MissingFactor = { sessionId: string; userId: string; email: string };

type Dependencies = {
  database: Database;
  load: () => Promise<Auth>;
  devices: KnownDevices;
  failed: FailedSignIns;
  passkeys: Passkeys;
  proofs: Proofs;
  metrics: Pick<Metrics, 'signedIn'>;
};

export function createBeginSession(dependencies: Dependencies) {
  const { database, load, devices, failed, passkeys, proofs, metrics } = dependencies;
  const counted = createStepCounter(metrics);

  return {
    /** The cookies of the new session, which may miss a second factor; null if the address or the password is wrong. */
    withPassword: counted('password', async (email: string, password: string, caller: Caller) => {
      const { api } = await load();
      const body = { email: normaliseEmail(email, 'body.email'), password };
      const hash = await readPassword(database, body.email);
      const signed = await api
        .signInEmail({ body, headers: headersOf(caller), returnHeaders: true })
        .catch(refusalOf);
      if (signed === null) {
        void failed.add(body.email, caller);
        return null;
      }
      const { user, token } = signed.response;
      if (!(await confirmSession(database, { userId: user.id, token, hash }))) return null;
      await proveSession(database, { token }, { secondFactor: false });
      const cookies = signed.headers.getSetCookie();
      // The password alone makes no device known that still owes a second factor.
      const owesFactor = await userHasFactor(database, user.id);
      return owesFactor ? cookies : [...cookies, devices.remember(body.email)];
    }),

    /** The cookies of the new session; null if the passkey proves nothing. */
    withPasskey: counted('passkey', async (assertion: Assertion, caller: Caller) => {
      const { api } = await load();
      const found = await passkeys.verifyAssertion(assertion, null);
      if (found === null) return null;
      const { response, headers } = await api
        .beginSession({ body: found, headers: headersOf(caller), returnHeaders: true })
        .catch(throwWithoutDetails);
      if (response === null) return null;
      const { token, email } = response;
      if (!(await confirmPasskeySession(database, { token, passkeyId: found.passkeyId })))
        return null;
      return [...headers.getSetCookie(), devices.remember(email)];
    }),

    /** The cookies of a session that is complete with this code; null if the code is wrong. */
    withSecondFactor: counted(
      'second_factor',
      async (session: MissingFactor, code: string, caller: Caller) => {
        const { userId: id, email, sessionId } = session;
        if (await proofs.completeSignIn({ id, email, sessionId, caller }, code))
          return [devices.remember(email)];
        void failed.add(email, caller);
        return null;
      },
    ),
  };
}

/** Counts each step for the metrics. */
function createStepCounter({ signedIn }: Dependencies['metrics']) {
  return <Given extends unknown[]>(
    method: SignInMethod,
    step: (...given: Given) => Promise<string[] | null>,
  ) =>
    async (...given: Given): Promise<string[] | null> => {
      const cookies = await step(...given);
      signedIn({ method, outcome: cookies === null ? 'failed' : 'succeeded' });
      return cookies;
    };
}

/** Null for a wrong address or password; anything else is thrown. */
function refusalOf(error: unknown): null {
  const { status, body } = error as { status?: unknown; body?: { code?: unknown } };
  if (status === 'UNAUTHORIZED' || body?.code === 'INVALID_EMAIL') return null;
  return throwWithoutDetails(error);
}

/** Keeps where it failed and how, but not the message: a database's holds what was to be written, such as an address. */
export function throwWithoutDetails(error: unknown): never {
  if (error instanceof ServiceError || isTemporary(error)) throw error;
  const { name, code, stack = '' } = error as { name?: string; code?: string; stack?: string };
  const failure = new Error(`sign-in failed: ${[name, code].filter(Boolean).join(' ')}`);
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  failure.stack = [failure.message, ...frames].join('\n');
  throw failure;
}
