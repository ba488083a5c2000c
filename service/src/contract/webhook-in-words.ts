/** The words for what a webhook is like, and for why it got no response: the same in the portal, in mails and on the command line. */
import type { Attempt, WebhookHealth } from './webhook.ts';

export const healthLabels: Record<WebhookHealth, string> = {
  suspended: 'Suspended',
  deactivated: 'Deactivated',
  failing: 'Failing',
  retrying: 'Retrying',
  new: 'New',
  healthy: 'Healthy',
};

export type DeactivatedReason = keyof typeof deactivatedReasons;
const deactivatedReasons = {
  failing: 'too many deliveries failed',
  gone: 'your server responded with 410 Gone, or the chat channel was deleted',
  owner: 'by a member or an API key',
};

type Described = {
  health?: WebhookHealth;
  reason: DeactivatedReason | null;
  suspendedReason: string | null;
  exhaustedInARow: number;
};

/** Why the webhook has this health, as it continues a sentence; null if it needs no reason. */
export function describeHealth(webhook: Described): string | null {
  const { health, reason, suspendedReason, exhaustedInARow: count } = webhook;
  if (health === 'suspended') return suspendedReason;
  if (health === 'deactivated') return deactivatedReasons[reason ?? 'owner'];
  if (health === 'retrying') return 'the last attempt failed';
  if (health !== 'failing') return null;
  return count === 1
    ? '1 delivery failed'
    : `${count.toLocaleString('en')} deliveries in a row failed`;
}

export type AttemptError = NonNullable<Attempt['error']>;
/** Why an attempt got no response: short names, for lists, filters and mails. */
export const errorLabels: Record<AttemptError, string> = {
  dns: 'Host not found',
  connect: 'Connection failed',
  tls: 'TLS failed',
  timeout: 'Timeout',
  blocked: 'Address not allowed',
  reset: 'Connection closed',
  interrupted: 'Interrupted',
};

/** What is known of such an error. A newer service may know more. */
export const errorCauseLabels: Record<NonNullable<Attempt['errorCause']>, string> = {
  refused: 'Connection refused',
  unreachable: 'The host cannot be reached',
  not_tls: 'The port does not speak TLS',
  tls_version: 'The version of TLS is too old',
  certificate_expired: 'The certificate has expired',
  certificate_not_yet_valid: 'The certificate is not valid yet',
  certificate_wrong_host: 'The certificate is for another host',
  certificate_incomplete: 'The certificate cannot be verified',
  certificate_untrusted: 'The certificate is not from a public authority',
  client_certificate_required: 'Your server requires a client certificate',
};
