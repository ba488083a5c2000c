/**
 * Proving who one is: signing in with a passkey, completing a sign-in with a second factor, and confirming before a
 * sensitive change (`recentProof` in `http/operations.ts`).
 */
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
import { oneOf } from '../responses/responses.ts';
import { done, doneResponse, setCookies } from './sign-in.ts';
import { openOperation, operation, type PortalContext } from './surface.ts';

export const passkeyOptionsResponse = oneOf(PasskeyOptions, 'PasskeyOptionsResponse', {
  challenge: 'aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28',
});

/** Runs `verify` within the limits on attempts. Throws `validation_failed` for this field if it returns false. */
async function attempt(
  { signIn, limits, caller, email }: PortalContext,
  field: string,
  verify: () => Promise<boolean>,
): Promise<typeof done> {
  const device = signIn.knownDevice(caller, email);
  if (await limits.attempt({ ip: caller.ip, email, device }, verify)) return done;
  throw invalid({ path: `body.${field}`, message: 'is wrong' });
}

export const passkeySignIn = [
  openOperation({
    operationId: 'getPasskeyOptions',
    method: 'POST',
    path: '/sign-in/passkey/options',
    summary: 'Start to sign in with a passkey',
    description: 'Returns the options of `navigator.credentials.get`.',
    returns: { 200: 'The options.' },
    response: passkeyOptionsResponse,
    run: async ({ signIn }) => envelope(await signIn.passkeys.requestOptions(null)),
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

export const completeSignIn = operation({
  operationId: 'completeSignIn',
  method: 'POST',
  path: '/sign-in/second-factor',
  summary: 'Complete a sign-in with a second factor',
  description:
    'Takes a code of the authenticator app, or a recovery code, which works once. After ten wrong codes of the app, no more are accepted for an hour. A passkey completes a sign-in by `signInWithPasskey`.',
  body: FactorCode,
  returns: { 200: 'You are signed in.' },
  response: doneResponse,
  run: ({ body, reply, ...context }) =>
    attempt(context, 'code', async () => {
      const { signIn, signedIn, caller } = context;
      // Without a missing factor there is nothing to complete.
      if (signedIn.missingFactor === null) return true;
      const cookies = await signIn.withSecondFactor(signedIn, body.code, caller);
      setCookies(reply, cookies ?? []);
      return cookies !== null;
    }),
});

const proof = {
  method: 'POST',
  description: `For the next ${proofMinutes} minutes, this session may make sensitive changes.`,
  returns: { 200: 'You have confirmed.' },
  response: doneResponse,
} as const;

export const proofOperations = [
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
    ...proof,
    operationId: 'proveWithPassword',
    path: '/account/proof/password',
    summary: 'Confirm with your password',
    body: CurrentPassword,
    run: ({ body, ...context }) =>
      attempt(context, 'password', () =>
        context.signIn.proofs.withPassword(context.account, body.password),
      ),
  }),
  operation({
    ...proof,
    operationId: 'proveWithAuthenticator',
    path: '/account/proof/authenticator',
    summary: 'Confirm with your authenticator app',
    body: FactorCode,
    run: ({ body, ...context }) =>
      attempt(context, 'code', () =>
        context.signIn.proofs.withAuthenticator(context.account, body.code),
      ),
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
    ...proof,
    operationId: 'proveWithMailedCode',
    path: '/account/proof/mailed-code',
    summary: 'Confirm with a mailed code',
    body: FactorCode,
    run: ({ body, ...context }) =>
      attempt(context, 'code', () =>
        context.signIn.proofs.withMailedCode(context.account, body.code),
      ),
  }),
  operation({
    operationId: 'getProofPasskeyOptions',
    method: 'POST',
    path: '/account/proof/passkey/options',
    summary: 'Start to confirm with a passkey',
    description: 'Returns the options of `navigator.credentials.get`.',
    returns: { 200: 'The options.' },
    response: passkeyOptionsResponse,
    run: async ({ signIn, account }) =>
      envelope(await signIn.passkeys.requestOptions(account.sessionId)),
  }),
  operation({
    ...proof,
    operationId: 'proveWithPasskey',
    path: '/account/proof/passkey',
    summary: 'Confirm with a passkey',
    body: PasskeyAssertion,
    run: ({ body, ...context }) =>
      attempt(context, 'credential', () =>
        context.signIn.proofs.withPasskey(context.account, body.credential),
      ),
  }),
];
