/** The headers of a delivery (docs/reference/deliveries.md#the-request) that can be known without the secret. */
import { pageData } from '../page-data.ts';
import type { Attempt, DeliveryDetail } from '../api/types.ts';

const signedWithSecret = "made with the secret, which this page doesn't have";

/** The headers that are the same for every attempt. */
export function fixedHeaders({
  id,
  event,
}: Pick<DeliveryDetail, 'id' | 'event'>): Record<string, string> {
  const { serviceName, version } = pageData;
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': `${serviceName}-Webhooks/${version}`,
    [`X-${serviceName}-Event`]: event,
    [`X-${serviceName}-Delivery`]: id,
    'webhook-id': id,
  };
}

/** Whether it is an event, which begins with its id, and not a message for a chat channel. */
export function isSigned({ id, body }: Pick<DeliveryDetail, 'id'> & { body: string }): boolean {
  return body.startsWith(`{"id":"${id}"`);
}

/** False if the body may not be shown. */
export function isMessage({ id, body }: Pick<DeliveryDetail, 'id' | 'body'>): boolean {
  return body !== null && !isSigned({ id, body });
}

/** All headers of an attempt but those of the owner, with a placeholder for the signatures. */
export function requestHeaders(
  delivery: Pick<DeliveryDetail, 'id' | 'event'> & { body: string },
  { startedAt }: Pick<Attempt, 'startedAt'>,
): Record<string, string> {
  const signed = fixedHeaders(delivery);
  if (!isSigned(delivery))
    return {
      'content-type': signed['content-type'] ?? '',
      'user-agent': signed['user-agent'] ?? '',
      'content-length': String(new TextEncoder().encode(delivery.body).length),
    };
  return {
    ...signed,
    'content-length': String(new TextEncoder().encode(delivery.body).length),
    'webhook-timestamp': String(Math.floor(new Date(startedAt).getTime() / 1000)),
    'webhook-signature': `v1,… (${signedWithSecret})`,
    [`X-${pageData.serviceName}-Signature`]: `sha256=… (${signedWithSecret})`,
  };
}
