/** Signs a body as the service signs a delivery, for tests of handlers. */
import { checkNames, requireOptions } from './options.ts';
import { checkSecret, concat, hmacKey, serviceKey, standardKey } from './verify-webhook.ts';
import type { WebhookEvent } from './types.ts';

export type SignWebhookOptions = {
  /** The secret with which the handler verifies, `whsec_…`. An undefined one is a `TypeError`, as in `verifyWebhook`. */
  secret: string | undefined;
  /** The id of the delivery. Default: the `id` in the body. */
  id?: string;
  /** When it was signed. Default: now. */
  timestamp?: Date;
  /** Only the signature of this scheme. Default: both, as in a delivery. */
  scheme?: 'standard' | 'service';
  /** The name of the service in the headers `X-…-Event`, `X-…-Delivery` and `X-…-Signature`. Default: `Service`. */
  serviceName?: string;
} & (
  | { /** The content of the delivery. */ event: WebhookEvent; body?: never }
  | { /** The exact body. */ body: string; event?: never }
);

const names = ['secret', 'id', 'timestamp', 'scheme', 'serviceName', 'event', 'body'];

export type SignedWebhook = { method: 'POST'; headers: Record<string, string>; body: string };

/**
 * Returns a request that `verifyWebhook` accepts, as `fetch` and `new Request` take it. Rejects with `TypeError` for invalid
 * options.
 */
export async function signWebhook(options: SignWebhookOptions): Promise<SignedWebhook> {
  requireOptions(options, '{ secret, event }');
  checkNames(options, names);
  const { timestamp = new Date(), scheme, serviceName = 'Service' } = options;
  if (scheme !== undefined && scheme !== 'standard' && scheme !== 'service')
    throw new TypeError("scheme must be 'standard' or 'service'");
  if (!/^[A-Za-z0-9]+$/.test(serviceName))
    throw new TypeError('serviceName must be letters and digits');
  const secret = checkSecret('secret', options.secret);
  const body = options.body ?? JSON.stringify(options.event);
  if (typeof body !== 'string') throw new TypeError('event or body must be given');
  const content = contentOf(body);
  const id = options.id ?? content.id;
  if (typeof id !== 'string') throw new TypeError('id must be given, because the body has none');
  const seconds = timestamp instanceof Date ? Math.floor(timestamp.getTime() / 1000) : Number.NaN;
  if (Number.isNaN(seconds))
    throw new TypeError('timestamp must be a valid Date: for seconds, new Date(seconds * 1000)');
  const bytes = new TextEncoder().encode(body);
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };
  if (typeof content.event === 'string') headers[`X-${serviceName}-Event`] = content.event;
  headers[`X-${serviceName}-Delivery`] = id;
  if (scheme !== 'standard') {
    const signature = await sign(serviceKey(secret), bytes);
    headers[`X-${serviceName}-Signature`] = `sha256=${toHex(signature)}`;
  }
  if (scheme !== 'service') {
    const start = new TextEncoder().encode(`${id}.${seconds}.`);
    const signature = await sign(standardKey(secret), concat(start, bytes));
    headers['webhook-id'] = id;
    headers['webhook-timestamp'] = String(seconds);
    headers['webhook-signature'] = `v1,${btoa(String.fromCharCode(...signature))}`;
  }
  return { method: 'POST', headers, body };
}

/** A test may send any text. */
function contentOf(body: string): { id?: unknown; event?: unknown } {
  try {
    return Object(JSON.parse(body)) as { id?: unknown; event?: unknown };
  } catch {
    return {};
  }
}

async function sign(
  key: Uint8Array<ArrayBuffer>,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', await hmacKey(key, 'sign'), bytes));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
