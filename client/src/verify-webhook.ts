/**
 * Verifies that a request is a genuine, recent delivery, and returns its event. WebCrypto's `verify` compares signatures
 * in constant time, and exists in browsers, workers and Node.js.
 */
import { headerReader, type WebhookHeaders } from './header-reader.ts';
import { isBytes, readBytes, tagOf, type ByteSource } from './read-bytes.ts';
import type { WebhookEvent } from './types.ts';
import { WebhookVerificationError } from './webhook-verification-error.ts';

export type VerifyWebhookOptions = WebhookContent & {
  /**
   * The secret, `whsec_…`. During a rotation, a list of secrets: one match is enough. It may be undefined only so that an
   * environment variable fits: then it is a `TypeError`.
   */
  secret: string | undefined | readonly (string | undefined)[];
  /** How far the signed time may differ from now, in seconds. Default: 300. */
  tolerance?: number;
  /** The current time. Default: the clock of this machine. */
  now?: Date;
  /**
   * `standard` (the default): the Standard Webhooks headers, which also sign the time, so that a recorded request cannot
   * be replayed later. `service`: `X-Service-Signature`, in GitHub's format. It signs only the body and does not protect
   * against replays: store the ids that you have handled.
   */
  scheme?: 'standard' | 'service';
  /** The header of the scheme `service`, if the service has another name. Default: `X-Service-Signature`. */
  signatureHeader?: string;
};

type WebhookContent =
  | {
      /**
       * The exact body, or a request of Node.js to read it from. A body that was parsed and serialised again has other
       * bytes.
       */
      body: Uint8Array | ArrayBuffer | string | AsyncIterable<Uint8Array>;
      headers: WebhookHeaders;
      request?: never;
    }
  | {
      /** A Fetch request, instead of `body` and `headers`. Its body is read. */
      request: Request;
      body?: never;
      headers?: never;
    };

type Signed = {
  signatures: Uint8Array<ArrayBuffer>[];
  /** The signed bytes. */
  bytes: Uint8Array<ArrayBuffer>;
  keyOf: (secret: string) => Uint8Array<ArrayBuffer>;
};

/** Five minutes, as in the libraries of Standard Webhooks. */
const toleranceSeconds = 300;
/** Far larger than any delivery: most have some KiB, and a blueprint hundreds at most. */
const bodyBytesMax = 4 * 1024 * 1024;
/** During a rotation there are two. */
const signaturesMax = 16;
/** 32 bytes in canonical base64: unused bits must be 0. */
const base64Signature = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

const read = { standard: readStandard, service: readService };

/**
 * Returns the event of a genuine delivery. Rejects with `WebhookVerificationError` for any other request, and with
 * `TypeError` for invalid options.
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { scheme = 'standard' } = options;
  // A mistyped scheme must not select the weaker one.
  if (!Object.hasOwn(read, scheme)) throw new TypeError("scheme must be 'standard' or 'service'");
  const secrets = checkSecrets(options.secret);
  const body = await bodyOf(options);
  const header = headerReader(
    options.request === undefined ? options.headers : options.request.headers,
  );
  const signed = read[scheme](header, body, options);
  if (!(await matches(signed, secrets))) throw noMatch();
  return parseEvent(body);
}

/** An unset secret is a mistake of the receiver, so it is no `WebhookVerificationError`, to which receivers respond with 401. */
function checkSecrets(secret: VerifyWebhookOptions['secret']): readonly string[] {
  if (!Array.isArray(secret)) return [checkSecret('secret', secret)];
  if (secret.length === 0) throw unset('secret', 'an empty list');
  return secret.map((each, index) => checkSecret(`secret[${index}]`, each));
}

/** @internal */
export function checkSecret(name: string, secret: unknown): string {
  if (secret === undefined || secret === null || secret === '')
    throw unset(name, secret === '' ? 'empty' : String(secret));
  if (typeof secret === 'string') return secret;
  throw new TypeError(`${name} must be the text whsec_… that the service showed`);
}

function unset(name: string, state: string): TypeError {
  return new TypeError(
    `${name} is not set (it is ${state}): pass the secret of the webhook, whsec_…, and check the environment variable that has it`,
  );
}

async function bodyOf({ body, request }: VerifyWebhookOptions): Promise<Uint8Array<ArrayBuffer>> {
  const source = request === undefined ? body : (request.body ?? '');
  const bytes = isByteSource(source) ? await readBytes(source, bodyBytesMax) : toBytes(source);
  if (bytes === null || bytes.length > bodyBytesMax)
    throw new WebhookVerificationError('body_too_large', 'The body is larger than any delivery.');
  // A copy, because a shared buffer could change between check and use.
  return new Uint8Array(bytes);
}

function isByteSource(source: unknown): source is ByteSource {
  if (typeof source !== 'object' || source === null) return false;
  return 'getReader' in source || Symbol.asyncIterator in source;
}

function toBytes(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (isBytes(body)) return body;
  if (tagOf(body) === '[object ArrayBuffer]') return new Uint8Array(body as ArrayBuffer);
  throw new TypeError('body must be the received bytes, not a parsed object');
}

/** Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, several with spaces between. */
function readStandard(
  header: (name: string) => string,
  body: Uint8Array<ArrayBuffer>,
  { tolerance = toleranceSeconds, now = new Date() }: VerifyWebhookOptions,
): Signed {
  const id = header('webhook-id');
  const timestamp = header('webhook-timestamp');
  const signatures = header('webhook-signature').split(' ');
  checkAge(timestamp, now, tolerance);
  if (signatures.length > signaturesMax) throw malformed('webhook-signature');
  // Other versions may follow; they are ignored.
  const known = signatures.filter((each) => each.startsWith('v1,')).map((each) => each.slice(3));
  if (known.length === 0 || !known.every((each) => base64Signature.test(each)))
    throw malformed('webhook-signature');
  return {
    signatures: known.map(fromBase64),
    bytes: concat(new TextEncoder().encode(`${id}.${timestamp}.`), body),
    keyOf: standardKey,
  };
}

function checkAge(timestamp: string, now: Date, tolerance: number): void {
  if (!(tolerance >= 0)) throw new TypeError('tolerance must be a number of seconds, 0 or more');
  if (!/^\d{1,12}$/.test(timestamp)) throw malformed('webhook-timestamp');
  const ageSeconds = now.getTime() / 1000 - Number(timestamp);
  if (Number.isNaN(ageSeconds)) throw new TypeError('now must be a valid Date');
  if (ageSeconds > tolerance)
    throw new WebhookVerificationError(
      'too_old',
      `The delivery was signed ${Math.round(ageSeconds)} s ago; ${tolerance} s are allowed.`,
      'webhook-timestamp',
    );
  // The timestamp is in whole seconds, rounded down, so a clock that is right never sees it in the future.
  if (-ageSeconds > tolerance)
    throw new WebhookVerificationError(
      'too_new',
      `The delivery was signed ${Math.round(-ageSeconds)} s in the future; ${tolerance} s are allowed.`,
      'webhook-timestamp',
    );
}

/**
 * The base64 part of the secret, decoded.
 * @internal
 */
export function standardKey(secret: string): Uint8Array<ArrayBuffer> {
  try {
    const key = fromBase64(secret.replace(/^whsec_/, ''));
    if (key.length > 0) return key;
  } catch {
    // The error may quote the secret.
  }
  throw new TypeError('secret must be whsec_ followed by base64');
}

/** GitHub's format: `sha256=` and the HMAC-SHA256 of the body in lower-case hex, with the whole secret as key. */
function readService(
  header: (name: string) => string,
  body: Uint8Array<ArrayBuffer>,
  { signatureHeader = 'X-Service-Signature' }: VerifyWebhookOptions,
): Signed {
  const name = signatureHeader.toLowerCase();
  const hex = /^sha256=([0-9a-f]{64})$/.exec(header(name))?.[1];
  if (hex === undefined) throw malformed(name);
  return {
    signatures: [Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))],
    bytes: body,
    keyOf: serviceKey,
  };
}

/** @internal */
export function serviceKey(secret: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(secret);
}

async function matches(signed: Signed, secrets: readonly string[]): Promise<boolean> {
  for (const secret of secrets) {
    const key = await hmacKey(signed.keyOf(secret), 'verify');
    for (const signature of signed.signatures)
      if (await crypto.subtle.verify('HMAC', key, signature, signed.bytes)) return true;
  }
  return false;
}

/** @internal */
export function hmacKey(key: Uint8Array<ArrayBuffer>, usage: 'sign' | 'verify') {
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);
}

function parseEvent(body: Uint8Array): WebhookEvent {
  let event: Partial<WebhookEvent> | null;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    event = null;
  }
  const { id, event: name, createdAt, data } = event ?? {};
  const strings = [id, name, createdAt].every((field) => typeof field === 'string');
  if (!strings || typeof data !== 'object' || data === null)
    throw new WebhookVerificationError('malformed_body', 'The body is not a delivery.');
  return event as WebhookEvent;
}

function malformed(header: string): WebhookVerificationError {
  const message = `The header ${header} has the wrong format.`;
  return new WebhookVerificationError('malformed_header', message, header);
}

function noMatch(): WebhookVerificationError {
  const message = 'No signature matches this body and secret.';
  return new WebhookVerificationError('no_match', message);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** @internal */
export function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
