/**
 * Proving who one is: signing in with a passkey, completing a sign-in with a second factor, and confirming before a
 * sensitive change (`recentProof` in `http/operations.ts`).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { proofMinutes } from '../../contract/periods.ts';
import { envelope } from '../../contract/envelope.ts';
import {
  CurrentPassword,
  FactorCode,
  PasskeyAssertion,
  PasskeyOptions,
  ProofMethods,
} from '../../contract/second-factor.ts';
import { invalid, ServiceError } from '../../errors.ts';
import type { Caller } from '../../sign-in/caller.ts';
import type { SignedIn, SignIn } from '../../sign-in/sign-in.ts';
import { mountOperations, operationFor } from '../operations.ts';
import { oneOf } from '../responses/responses.ts';
import { callerOf, signedInOf } from './authenticate.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import { done, doneResponse, setCookies } from './sign-in.ts';
import { openSurface, signedInSurface, type PortalRouteDependencies } from './surface.ts';

type OpenContext = { signIn: SignIn; caller: Caller };
type ProofContext = OpenContext & {
  limits: SignInLimits;
  signedIn: SignedIn;
  account: { id: string; email: string; sessionId: string };
  /** Runs `verify` within the limits on attempts. Throws `validation_failed` for this field if it returns false. */
  attempt: (field: string, verify: () => Promise<boolean>) => Promise<typeof done>;
};
const openOperation = operationFor<OpenContext>();
const operation = operationFor<ProofContext>();

export const passkeyOptionsResponse = oneOf(PasskeyOptions, 'PasskeyOptionsResponse', {
  challenge: 'aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28',
});

export function registerProofs(
  portal: FastifyInstance,
  { signIn }: PortalRouteDependencies,
  limits: SignInLimits,
): void {
  const open = {
    ...openSurface,
    contextOf: (request: FastifyRequest) => ({ signIn, caller: callerOf(request) }),
  };
  mountOperations(portal, open, 'Sign-in', passkeyOperations);

  const contextOf = (request: FastifyRequest): ProofContext => {
    const signedIn = signedInOf(request);
    const { userId: id, email, sessionId } = signedIn;
    const caller = callerOf(request);
    return {
      signIn,
      limits,
      caller,
      signedIn,
      account: { id, email, sessionId },
      async attempt(field, verify) {
        const device = signIn.knownDevice(caller, email);
        if (await limits.attempt({ ip: caller.ip, email, device }, verify)) return done;
        throw invalid({ path: `body.${field}`, message: 'is wrong' });
      },
    };
  };
  const config = { ...signedInSurface.config, duringMaintenance: true };
  const incomplete = { ...config, whileMissing: ['confirm'] as const };
  mountOperations(portal, { ...signedInSurface, config: incomplete, contextOf }, 'Sign-in', [
    completeSignIn,
  ]);
  const unset = { ...config, whileMissing: ['set_up'] as const };
  mountOperations(
    portal,
    { ...signedInSurface, config: unset, contextOf },
    'Security',
    proofOperations,
  );
}

const passkeyOperations = [
  openOperation({
    operationId: 'getPasskeyOptions',
    method: 'POST',
    path: '/sign-in/passkey/options',
    summary: 'Start to sign in with a passkey',
    description: 'Returns the options of `navigator.credentials.get`.',
    returns: { 200: 'The options.' },
    response: passkeyOptionsResponse,
    run: async ({ signIn }) => envelope(await signIn.passkeyOptions(null)),
  }),
  openOperation({
    operationId: 'signInWithPasskey',
    method: 'POST',
    path: '/sign-in/passkey',
    summary: 'Sign in with a passkey',
    description: 'Sets the session cookie. A passkey needs no password and no second factor.',
    body: PasskeyAssertion,
    returns: { 200: 'You are signed in.' },
    response: doneResponse,
    errors: ['unauthorized'],
    async run({ signIn, caller, body, reply }) {
      const cookies = await signIn.withPasskey(body.credential, caller);
      if (cookies === null)
        throw new ServiceError('unauthorized', 'No account here has this passkey.');
      setCookies(reply, cookies);
      return done;
    },
  }),
];

const completeSignIn = operation({
  operationId: 'completeSignIn',
  method: 'POST',
  path: '/sign-in/second-factor',
  summary: 'Complete a sign-in with a second factor',
  description:
    'Takes a code of the authenticator app, or a recovery code, which works once. After ten wrong codes of the app, no more are accepted for an hour. A passkey completes a sign-in by `signInWithPasskey`.',
  body: FactorCode,
  returns: { 200: 'You are signed in.' },
  response: doneResponse,
  run: ({ signIn, signedIn, caller, attempt, body, reply }) =>
    attempt('code', async () => {
      // Without a missing factor there is nothing to complete.
      if (signedIn.missingFactor === null) return true;
      const cookies = await signIn.withSecondFactor(signedIn, body.code, caller);
      setCookies(reply, cookies ?? []);
      return cookies !== null;
    }),
});

const proofOperations = [
  operation({
    operationId: 'listProofMethods',
    method: 'GET',
    path: '/account/proof',
    summary: 'List the ways to prove who you are',
    description: 'Returns what your account can confirm with.',
    returns: { 200: 'The ways.' },
    response: oneOf(ProofMethods, 'ProofMethodsResponse', { methods: ['password', 'mail'] }),
    run: async ({ signIn, account }) => envelope({ methods: await signIn.proofs.methods(account) }),
  }),
  operation({
    operationId: 'proveWithPassword',
    method: 'POST',
    path: '/account/proof/password',
    summary: 'Confirm with your password',
    description: `For the next ${proofMinutes} minutes, this session may make sensitive changes.`,
    body: CurrentPassword,
    returns: { 200: 'You have confirmed.' },
    response: doneResponse,
    run: ({ signIn, account, attempt, body }) =>
      attempt('password', () => signIn.proofs.withPassword(account, body.password)),
  }),
  operation({
    operationId: 'proveWithAuthenticator',
    method: 'POST',
    path: '/account/proof/authenticator',
    summary: 'Confirm with your authenticator app',
    description: `For the next ${proofMinutes} minutes, this session may make sensitive changes.`,
    body: FactorCode,
    returns: { 200: 'You have confirmed.' },
    response: doneResponse,
    run: ({ signIn, account, attempt, body }) =>
      attempt('code', () => signIn.proofs.withAuthenticator(account, body.code)),
  }),
  operation({
    operationId: 'mailProofCode',
    method: 'POST',
    path: '/account/proof/mail',
    summary: 'Get a code by mail',
    description: 'The code works once, for ten minutes and five tries, and replaces earlier ones.',
    returns: { 202: 'The code is being sent.' },
    response: doneResponse,
    errors: ['conflict'],
    async run({ signIn, limits, caller, account }) {
      // Only for the account: mails that others ask for keep nobody from a code.
      limits.mailForAccount(caller.ip, account.id, null);
      await signIn.proofs.sendCode(account);
      return done;
    },
  }),
  operation({
    operationId: 'proveWithMailedCode',
    method: 'POST',
    path: '/account/proof/mailed-code',
    summary: 'Confirm with a mailed code',
    description: `For the next ${proofMinutes} minutes, this session may make sensitive changes.`,
    body: FactorCode,
    returns: { 200: 'You have confirmed.' },
    response: doneResponse,
    run: ({ signIn, account, attempt, body }) =>
      attempt('code', () => signIn.proofs.withMailedCode(account, body.code)),
  }),
  operation({
    operationId: 'getProofPasskeyOptions',
    method: 'POST',
    path: '/account/proof/passkey/options',
    summary: 'Start to confirm with a passkey',
    description: 'Returns the options of `navigator.credentials.get`.',
    returns: { 200: 'The options.' },
    response: passkeyOptionsResponse,
    run: async ({ signIn, account }) => envelope(await signIn.passkeyOptions(account.sessionId)),
  }),
  operation({
    operationId: 'proveWithPasskey',
    method: 'POST',
    path: '/account/proof/passkey',
    summary: 'Confirm with a passkey',
    description: `For the next ${proofMinutes} minutes, this session may make sensitive changes.`,
    body: PasskeyAssertion,
    returns: { 200: 'You have confirmed.' },
    response: doneResponse,
    run: ({ signIn, account, attempt, body }) =>
      attempt('credential', () => signIn.proofs.withPasskey(account, body.credential)),
  }),
];
