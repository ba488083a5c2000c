/** Signs a delivery in GitHub's and in Standard Webhooks' format, and makes new secrets. */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** The two signing keys of one secret. */
export type SigningKey = {
  /** The secret's UTF-8 bytes, as shown to its owner. */
  github: KeyObject;
  /** Its base64 part, decoded. */
  standard: KeyObject;
};

export type SigningSecrets = {
  current: SigningKey;
  /** The old secret, while a rotation overlaps. */
  previous: SigningKey | null;
};

/** `createdAt` as in responses: in UTC, with milliseconds. */
export type DeliveryContent = { id: string; event: string; createdAt: string; data: string };

/** The exact body: four fields in this order, `data` as the text that was recorded. */
export function renderBody({ id, event, createdAt, data }: DeliveryContent): string {
  // None of the three has a character that JSON escapes.
  return `{"id":"${id}","event":"${event}","createdAt":"${createdAt}","data":${data}}`;
}

/** Makes key objects, because `createHmac` takes several times as long with raw bytes. */
export function signingKey(secret: string): SigningKey {
  return {
    github: createSecretKey(Buffer.from(secret)),
    standard: createSecretKey(Buffer.from(secret.replace(/^whsec_/, ''), 'base64')),
  };
}

/** Lower-case hex HMAC-SHA256 of the body's bytes; the key is the secret's UTF-8 bytes as shown to its owner. */
export function githubSignature(secret: string | KeyObject, body: string | Buffer): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. */
function standardSignature(key: KeyObject, signedStart: string, body: Buffer): string {
  return `v1,${createHmac('sha256', key).update(signedStart).update(body).digest('base64')}`;
}

/** The headers of any request to a receiver. */
export function requestHeaders(options: {
  serviceName: string;
  version: string;
  body: Buffer;
}): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(options.body.length),
    'user-agent': `${options.serviceName}-Webhooks/${options.version}`,
  };
}

/**
 * Returns all headers of a delivery. During an overlap, Standard Webhooks gets both signatures, and the single-valued
 * header keeps the previous secret, so that receivers that have not changed yet still work.
 */
export function deliveryHeaders(options: {
  serviceName: string;
  version: string;
  id: string;
  event: string;
  body: Buffer;
  secrets: SigningSecrets;
  now: Date;
}): Record<string, string> {
  const { serviceName, id, body, secrets } = options;
  const timestampSeconds = Math.floor(options.now.getTime() / 1000);
  const inUse = secrets.previous === null ? [secrets.current] : [secrets.current, secrets.previous];
  return {
    ...requestHeaders(options),
    [`X-${serviceName}-Event`]: options.event,
    [`X-${serviceName}-Delivery`]: id,
    [`X-${serviceName}-Signature`]: githubSignature(
      (secrets.previous ?? secrets.current).github,
      body,
    ),
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': inUse
      .map((secret) => standardSignature(secret.standard, `${id}.${timestampSeconds}.`, body))
      .join(' '),
  };
}

/** `whsec_` and 32 random bytes in base64, the Standard Webhooks format. */
export function generateSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
