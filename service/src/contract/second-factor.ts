/** Passkeys, authenticator apps, recovery codes, and the proofs made with them. */
import { Type } from 'typebox';
import { knownPassword } from './account.ts';
import { nullable, plainName, strictObject, time, uuid, count } from './shapes.ts';

/** In base64url. Browsers send a few hundred bytes; some authenticators certify themselves with a few thousand. */
const binary = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 16_384,
    pattern: '^[\\w-]+$',
    description: `${description} In base64url.`,
    examples: [example],
  });
const credentialFields = {
  id: binary('The id of the passkey.', 'bm90IGEgcmVhbCBwYXNza2V5'),
  clientDataJSON: binary('What the browser signed.', 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0'),
};
const attestationObject = binary('The new public key.', 'o2NmbXRkbm9uZQ');
const authenticatorData = binary('What the device signed.', 'SZYN5YgOjGh0NBcPZHZgW4');
const signature = binary('The signature of the device.', 'MEUCIQDjM7hV');
const exampleCredential = {
  id: 'bm90IGEgcmVhbCBwYXNza2V5',
  clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0',
};

const passkeyName = plainName('The name of the passkey', 'Laptop');
const code = Type.String({
  minLength: 1,
  maxLength: 40,
  description: 'The code. Spaces and dashes do not matter.',
  examples: ['123456'],
});

export const PasskeyAssertion = strictObject(
  {
    credential: strictObject(
      { ...credentialFields, authenticatorData, signature },
      { description: 'The response of `navigator.credentials.get`.' },
    ),
  },
  {
    title: 'PasskeyAssertion',
    description: 'A proof by passkey.',
    examples: [
      {
        credential: {
          ...exampleCredential,
          authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4',
          signature: 'MEUCIQDjM7hV',
        },
      },
    ],
  },
);

export const NewPasskey = strictObject(
  {
    name: passkeyName,
    credential: strictObject(
      { ...credentialFields, attestationObject },
      { description: 'The response of `navigator.credentials.create`.' },
    ),
  },
  {
    title: 'NewPasskey',
    description: 'A new passkey.',
    examples: [
      {
        name: 'Laptop',
        credential: { ...exampleCredential, attestationObject: 'o2NmbXRkbm9uZQ' },
      },
    ],
  },
);

export const PasskeyChanges = strictObject(
  { name: passkeyName },
  { title: 'PasskeyChanges', description: 'The fields to change.', examples: [{ name: 'Laptop' }] },
);

export const PasskeyOptions = Type.Object(
  {
    challenge: Type.String({
      description: 'A random value to sign. It can be used once, within five minutes.',
    }),
  },
  {
    additionalProperties: true,
    title: 'PasskeyOptions',
    description: 'The options of `navigator.credentials`, in the JSON form of WebAuthn.',
  },
);

export const FactorCode = strictObject(
  { code },
  { title: 'FactorCode', description: 'A code.', examples: [{ code: '123456' }] },
);

export const CurrentPassword = strictObject(
  {
    password: knownPassword('The password of the account.'),
  },
  {
    title: 'CurrentPassword',
    description: 'A proof by password.',
    examples: [{ password: 'correct horse battery staple' }],
  },
);

export const ProofMethods = strictObject(
  {
    methods: Type.Array(
      Type.Enum(['passkey', 'authenticator', 'password', 'mail'], { type: 'string' }),
      { description: 'What you can confirm with.' },
    ),
  },
  { title: 'ProofMethods', description: 'The ways to prove who you are.' },
);

const Passkey = strictObject(
  {
    id: uuid({ description: 'The id of the passkey.' }),
    name: Type.String({ description: 'The name of the passkey.' }),
    createdAt: time({ description: 'When the passkey was added.' }),
    lastUsedAt: nullable(time({ description: 'When the passkey was last used.' })),
  },
  { title: 'Passkey', description: 'A passkey of the account.' },
);

export const SecondFactorState = strictObject(
  {
    passkeys: Type.Array(Passkey, { description: 'The passkeys, oldest first.' }),
    authenticator: nullable(
      strictObject(
        { addedAt: time({ description: 'When the authenticator app was added.' }) },
        { title: 'Authenticator', description: 'The authenticator app of the account.' },
      ),
    ),
    recoveryCodesLeft: count('The number of recovery codes that still work.'),
  },
  { title: 'SecondFactorState', description: 'The second factor of the account.' },
);

export const NewAuthenticator = strictObject(
  {
    secret: Type.String({ description: 'The secret, in base32. Only this response has it.' }),
    uri: Type.String({ description: 'The same as an `otpauth` address, for a QR code.' }),
  },
  { title: 'NewAuthenticator', description: 'The secret for an authenticator app.' },
);

const codes = (description: string) => Type.Array(Type.String(), { description });
export const RecoveryCodes = strictObject(
  { recoveryCodes: codes('The codes. Only this response has them; each works once.') },
  { title: 'RecoveryCodes', description: 'New recovery codes.' },
);
export const AddedFactor = strictObject(
  {
    recoveryCodes: nullable(
      codes('Recovery codes, if there were none. Only this response has them; each works once.'),
    ),
  },
  { title: 'AddedFactor', description: 'A second factor was added.' },
);
