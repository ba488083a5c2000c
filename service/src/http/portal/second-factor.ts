/** The second factor of one's own account. Available while a session still misses one, so that it can be set up. */
import { envelope } from '../../contract/envelope.ts';
import { exampleTime, exampleId } from '../../contract/examples.ts';
import {
  AddedFactor,
  FactorCode,
  NewAuthenticator,
  NewPasskey,
  PasskeyChanges,
  RecoveryCodes,
  SecondFactorState,
} from '../../contract/second-factor.ts';
import { listFactors } from '../../sign-in/second-factor.ts';
import { oneOf } from '../responses/responses.ts';
import { passkeyOptionsResponse } from './proofs.ts';
import { done, doneResponse } from './sign-in.ts';
import { operation } from './surface.ts';

const recoveryCodes = ['abcd-efgh-ijkl-mnop'];
const addedResponse = oneOf(AddedFactor, 'AddedFactorResponse', { recoveryCodes });

export const passkeyOperations = [
  operation({
    operationId: 'getSecondFactor',
    method: 'GET',
    path: '/account/second-factor',
    summary: 'Get your second factor',
    description:
      'Returns your passkeys, your authenticator app and how many recovery codes are left.',
    returns: { 200: 'The second factor.' },
    response: oneOf(SecondFactorState, 'SecondFactorResponse', {
      passkeys: [{ id: exampleId, name: 'Laptop', createdAt: exampleTime, lastUsedAt: null }],
      authenticator: { addedAt: exampleTime },
      recoveryCodesLeft: 10,
    }),
    run: async ({ database, account }) => envelope(await listFactors(database, account.id)),
  }),
  operation({
    operationId: 'getNewPasskeyOptions',
    method: 'POST',
    path: '/account/passkeys/options',
    summary: 'Start to add a passkey',
    description: 'Returns the options of `navigator.credentials.create`.',
    returns: { 200: 'The options.' },
    response: passkeyOptionsResponse,
    recentProof: true,
    run: async ({ signIn: { passkeys }, account }) =>
      envelope(await passkeys.registrationOptions(account)),
  }),
  operation({
    operationId: 'addPasskey',
    method: 'POST',
    path: '/account/passkeys',
    summary: 'Add a passkey',
    description: 'With the first second factor, also returns recovery codes.',
    body: NewPasskey,
    returns: { 201: 'The passkey was added.' },
    response: addedResponse,
    errors: ['conflict'],
    recentProof: true,
    async run({ signIn: { secondFactor }, account, body: { name, credential } }) {
      const passkey = { name: name.trim(), credential };
      return envelope(await secondFactor.addPasskey(account, passkey));
    },
  }),
  operation({
    operationId: 'updatePasskey',
    method: 'PATCH',
    path: '/account/passkeys/:passkeyId',
    summary: 'Rename a passkey',
    description: 'Changes the name.',
    body: PasskeyChanges,
    returns: { 200: 'The change was saved.' },
    response: doneResponse,
    async run({ signIn: { secondFactor }, account, params: { passkeyId }, body }) {
      await secondFactor.renamePasskey(account, { passkeyId, name: body.name.trim() });
      return done;
    },
  }),
  operation({
    operationId: 'removePasskey',
    method: 'DELETE',
    path: '/account/passkeys/:passkeyId',
    summary: 'Remove a passkey',
    description: 'Ends all your other sessions. Recovery codes are deleted with the last factor.',
    returns: { 200: 'The passkey was removed.' },
    response: doneResponse,
    recentProof: true,
    async run({ signIn: { secondFactor }, account, params }) {
      await secondFactor.removePasskey(account, params.passkeyId);
      return done;
    },
  }),
];

export const authenticatorOperations = [
  operation({
    operationId: 'setUpAuthenticator',
    method: 'POST',
    path: '/account/authenticator',
    summary: 'Start to add an authenticator app',
    description: 'Returns a secret. It counts after `confirmAuthenticator`.',
    returns: { 201: 'The secret.' },
    response: oneOf(NewAuthenticator, 'NewAuthenticatorResponse', {
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      uri: 'otpauth://totp/Service:ada%40example.org?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Service',
    }),
    errors: ['conflict'],
    recentProof: true,
    run: async ({ signIn: { secondFactor }, account }) =>
      envelope(await secondFactor.setUpAuthenticator(account)),
  }),
  operation({
    operationId: 'confirmAuthenticator',
    method: 'POST',
    path: '/account/authenticator/confirm',
    summary: 'Add an authenticator app',
    description:
      'Takes the first code of the app. With the first second factor, also returns recovery codes.',
    body: FactorCode,
    returns: { 200: 'The authenticator app was added.' },
    response: addedResponse,
    errors: ['conflict'],
    recentProof: true,
    run: async ({ signIn: { secondFactor }, account, body }) =>
      envelope(await secondFactor.confirmAuthenticator(account, body.code)),
  }),
  operation({
    operationId: 'removeAuthenticator',
    method: 'DELETE',
    path: '/account/authenticator',
    summary: 'Remove your authenticator app',
    description: 'Ends all your other sessions. Recovery codes are deleted with the last factor.',
    returns: { 200: 'The authenticator app was removed.' },
    response: doneResponse,
    errors: ['not_found'],
    recentProof: true,
    async run({ signIn: { secondFactor }, account }) {
      await secondFactor.removeAuthenticator(account);
      return done;
    },
  }),
];

export const createRecoveryCodes = operation({
  operationId: 'createRecoveryCodes',
  method: 'POST',
  path: '/account/recovery-codes',
  summary: 'Create recovery codes',
  description: 'Replaces earlier codes. Returns `conflict` without a second factor.',
  returns: { 201: 'The codes.' },
  response: oneOf(RecoveryCodes, 'RecoveryCodesResponse', { recoveryCodes }),
  errors: ['conflict'],
  recentProof: true,
  run: async ({ signIn: { secondFactor }, account }) =>
    envelope({ recoveryCodes: await secondFactor.createRecoveryCodes(account) }),
});
