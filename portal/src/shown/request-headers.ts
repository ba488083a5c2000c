/** The headers that an attempt was sent with, made again from its record. What is signed with the secret is not kept. */
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { pageData } from '../page-data.ts';

/** `version`: that of the service; null where it is not known. */
export function requestHeaders(
  { id, event, body }: DeliveryDetail,
  { startedAt }: Attempt,
  version: string | null,
): Record<string, string> {
  const { serviceName } = pageData;
  const length = body === null ? null : new TextEncoder().encode(body).length;
  return {
    'content-type': 'application/json; charset=utf-8',
    ...(length !== null && { 'content-length': String(length) }),
    ...(version !== null && { 'user-agent': `${serviceName}-Webhooks/${version}` }),
    [`X-${serviceName}-Event`]: event,
    [`X-${serviceName}-Delivery`]: id,
    [`X-${serviceName}-Signature`]: 'sha256=…',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(new Date(startedAt).getTime() / 1_000)),
    'webhook-signature': 'v1,…',
  };
}
