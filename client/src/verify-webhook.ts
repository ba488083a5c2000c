/**
 * Says whether a request is a genuine, fresh delivery, and what it tells. The signature is compared by WebCrypto's
 * `verify`, which takes the same time wherever the difference is; it runs in browsers, workers and Node.js alike.
 */
import { headerReader, type WebhookHeaders } from './header-reader.ts';
import { readBytes, type ByteSource } from './read-bytes.ts';
import type { WebhookEvent } from './types.ts';
import { WebhookVerificationError } from './webhook-verification-error.ts';

export type VerifyWebhookOptions = WebhookContent & {
  /** The secret as it was shown, `whsec_…`. Several while a rotation overlaps: one that fits is enough. */
  secret: string | readonly string[];
  /** How far the signed time may be from now, either way, in seconds. Default: 300. */
  tolerance?: number;
  /** What time it is. Default: the clock of this machine. */
  now?: Date;
  /**
   * `standard` (the default): the Standard Webhooks headers, which sign the time too, so that a recorded request cannot
   * be sent again later. `service`: `X-Service-Signature`, GitHub's way; it signs the body alone and protects from
   * no replay: remember the ids that you have seen.
   */
  scheme?: 'standard' | 'service';
  /** The header of the scheme `service`, where the service goes by another name. Default: `X-Service-Signature`. */
  signatureHeader?: string;
};

type WebhookContent =
  | {
      /**
       * The body exactly as it came, or as it comes: a request of Node.js. A body that was parsed and written again has
       * other bytes.
       */
      body: Uint8Array | ArrayBuffer | string | AsyncIterable<Uint8Array>;
      headers: WebhookHeaders;
      request?: never;
    }
  | {
      /** Instead of both: a Fetch request. Its body is read. */
      request: Request;
      body?: never;
      headers?: never;
    };

type Signed = {
  signatures: Uint8Array<ArrayBuffer>[];
  /** What was signed. */
  bytes: Uint8Array<ArrayBuffer>;
  keyOf: (secret: string) => Uint8Array<ArrayBuffer>;
};

/** Five minutes, as the published libraries of Standard Webhooks have it. */
const toleranceSeconds = 300;
/** Far above any delivery: the service takes bodies of 64 KiB. */
const bodyBytesMax = 4 * 1024 * 1024;
/** A rotation has two. */
const signaturesMax = 16;
/** 32 bytes in base64, and in no other way than the one way to write them: bits that mean nothing must be 0. */
const base64Signature = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

const read = { standard: readStandard, service: readService };

/**
 * Resolves with the event of a genuine delivery. Rejects with `WebhookVerificationError`, whose `reason` says why it is
 * none, and with `TypeError` where the options themselves are wrong.
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { scheme = 'standard' } = options;
  // A word that is mistaken must not be taken for the weaker scheme.
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

function checkSecrets(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0 || secrets.some((each) => typeof each !== 'string' || each === ''))
    throw new TypeError('secret must be the secret of the webhook, or a list of them');
  return secrets;
}

async function bodyOf({ body, request }: VerifyWebhookOptions): Promise<Uint8Array<ArrayBuffer>> {
  const source = request === undefined ? body : (request.body ?? '');
  const bytes = isByteSource(source) ? await readBytes(source, bodyBytesMax) : toBytes(source);
  if (bytes === null || bytes.length > bodyBytesMax)
    throw new WebhookVerificationError('body_too_large', 'The body is larger than any delivery.');
  // A copy, so that nobody changes between check and use what a shared buffer holds.
  return new Uint8Array(bytes);
}

function isByteSource(source: unknown): source is ByteSource {
  if (typeof source !== 'object' || source === null) return false;
  return 'getReader' in source || Symbol.asyncIterator in source;
}

function toBytes(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('body must be the bytes as they came, not what was parsed of them');
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
  // Versions to come stand beside v1 and are passed over.
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
      `It was signed ${Math.round(ageSeconds)} s ago; ${tolerance} s are allowed.`,
      'webhook-timestamp',
    );
  // The timestamp is in whole seconds, rounded down, so a clock that is right never sees it in the future.
  if (-ageSeconds > tolerance)
    throw new WebhookVerificationError(
      'too_new',
      `It was signed ${Math.round(-ageSeconds)} s in the future; ${tolerance} s are allowed.`,
      'webhook-timestamp',
    );
}

/** The base64 part of the secret, decoded. */
function standardKey(secret: string): Uint8Array<ArrayBuffer> {
  try {
    const key = fromBase64(secret.replace(/^whsec_/, ''));
    if (key.length > 0) return key;
  } catch {
    // What was thrown may quote the secret.
  }
  throw new TypeError('secret must be as it was shown: whsec_ and base64');
}

/** GitHub's way: `sha256=` and the HMAC-SHA256 of the body in lower-case hex; the key is the secret as it was shown. */
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
    keyOf: (secret) => new TextEncoder().encode(secret),
  };
}

async function matches(signed: Signed, secrets: readonly string[]): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', signed.keyOf(secret), algorithm, false, [
      'verify',
    ]);
    for (const signature of signed.signatures)
      if (await crypto.subtle.verify('HMAC', key, signature, signed.bytes)) return true;
  }
  return false;
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
  const message = `The header ${header} is not as it must be.`;
  return new WebhookVerificationError('malformed_header', message, header);
}

function noMatch(): WebhookVerificationError {
  const message = 'No signature was made with this secret over these bytes.';
  return new WebhookVerificationError('no_match', message);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
