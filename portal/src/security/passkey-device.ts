/** Creates and uses passkeys of this device, with the browser's own dialogs. */
import type { NewPasskey, PasskeyAssertion, PasskeyOptions } from '../api/types.ts';

/** A message for the user: what happened in the browser's dialog. */
export class PasskeyError extends Error {}

/** Browsers have passkeys on pages with a name and TLS, or on localhost. */
export const canUsePasskeys =
  window.isSecureContext &&
  'parseCreationOptionsFromJSON' in (window.PublicKeyCredential ?? {}) &&
  !/^[\d.]+$|^\[/.test(window.location.hostname);

export async function createPasskey(options: PasskeyOptions): Promise<NewPasskey['credential']> {
  const json = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json);
  const made = await navigator.credentials.create({ publicKey }).catch(describeFailure);
  const { id, response } = made as PublicKeyCredential;
  const { clientDataJSON, attestationObject } = response as AuthenticatorAttestationResponse;
  return {
    id,
    clientDataJSON: toBase64Url(clientDataJSON),
    attestationObject: toBase64Url(attestationObject),
  };
}

export async function getPasskey(options: PasskeyOptions): Promise<PasskeyAssertion> {
  const json = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json);
  const used = await navigator.credentials.get({ publicKey }).catch(describeFailure);
  const { id, response } = used as PublicKeyCredential;
  const { clientDataJSON, authenticatorData, signature } =
    response as AuthenticatorAssertionResponse;
  return {
    credential: {
      id,
      clientDataJSON: toBase64Url(clientDataJSON),
      authenticatorData: toBase64Url(authenticatorData),
      signature: toBase64Url(signature),
    },
  };
}

function describeFailure(error: unknown): never {
  const { name } = error as { name?: string };
  throw new PasskeyError(
    name === 'InvalidStateError'
      ? 'This device has a passkey for your account already.'
      : 'The browser reported that it was cancelled, or that this device has none. Try again, or use another way.',
    { cause: error },
  );
}

function toBase64Url(bytes: ArrayBuffer): string {
  const text = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
