/** The authenticators of people: a device with passkeys, and an app with codes. */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { codeAt, stepAt } from '../../src/sign-in/authenticators.ts';
import { testPublicUrl } from './service.ts';

type Options = { challenge: string };
type Response = { id: string; clientDataJSON: string };

export type Device = {
  /** What a browser returns from `navigator.credentials.create`. */
  create: (options: Options) => Response & { attestationObject: string };
  /** What a browser returns from `navigator.credentials.get`. */
  get: (options: Options) => Response & { authenticatorData: string; signature: string };
};

const userPresentAndVerified = 0x05;
const withCredential = 0x40;

/** One passkey. `origin`: of the page that asks. `flags`: what the device says of its user. `maker`: of its maker, in CBOR. */
export function createDevice({
  origin = testPublicUrl,
  flags = userPresentAndVerified,
  maker = { format: 'none', statement: Buffer.from([0xa0]) },
}: {
  origin?: string;
  flags?: number;
  maker?: { format: string; statement: Buffer };
} = {}): Device {
  const id = randomBytes(16);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let counter = 0;

  const clientData = (type: string, { challenge }: Options) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = (given: number, rest = Buffer.alloc(0)) => {
    counter += 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const host = createHash('sha256').update(new URL(testPublicUrl).hostname).digest();
    return Buffer.concat([host, Buffer.from([given]), count, rest]);
  };

  return {
    create(options) {
      const length = Buffer.from([0, id.length]);
      const rest = Buffer.concat([Buffer.alloc(16), length, id, coseOf(publicKey)]);
      return {
        id: id.toString('base64url'),
        clientDataJSON: clientData('webauthn.create', options).toString('base64url'),
        attestationObject: attestation(authenticatorData(flags | withCredential, rest), maker),
      };
    },
    get(options) {
      const client = clientData('webauthn.get', options);
      const data = authenticatorData(flags);
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      return {
        id: id.toString('base64url'),
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
      };
    },
  };
}

/** The code that an app shows now, or some steps of 30 seconds later. */
export function codeOf(secret: string, later = 0): string {
  return codeAt(secret, stepAt(Date.now()) + later);
}

/** Anything but the codes around now. */
export function wrongCodeOf(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((later) => codeOf(secret, later));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find(
    (code) => !right.includes(code),
  )!;
}

/** `{ fmt, attStmt, authData }` in CBOR. */
function attestation(data: Buffer, maker: { format: string; statement: Buffer }): string {
  const text = (value: string) =>
    Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
  const length = Buffer.from([0x59, data.length >> 8, data.length & 255]);
  return Buffer.concat([
    Buffer.from([0xa3]),
    text('fmt'),
    text(maker.format),
    text('attStmt'),
    maker.statement,
    text('authData'),
    length,
    data,
  ]).toString('base64url');
}

/** ES256 in COSE: kty 2, alg -7, crv 1, x, y. */
function coseOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  const coordinate = (label: number, value: string) =>
    Buffer.concat([Buffer.from([label, 0x58, 32]), Buffer.from(value, 'base64url')]);
  return Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]),
    coordinate(0x21, x),
    coordinate(0x22, y),
  ]);
}
