import { OrgdirError } from './orgdir-error.ts';

/**
 * - `missing_header`: a required header is missing; `header` is its name.
 * - `malformed_header`: a header is repeated or has the wrong format.
 * - `too_old`, `too_new`: the signed time differs from now by more than the tolerance. A replay, or a wrong clock.
 * - `no_match`: no signature matches the body and a secret.
 * - `body_too_large`: the body is larger than any delivery.
 * - `malformed_body`: the signature is valid, but the body is not a delivery.
 */
export type WebhookVerificationReason =
  | 'missing_header'
  | 'malformed_header'
  | 'too_old'
  | 'too_new'
  | 'no_match'
  | 'body_too_large'
  | 'malformed_body';

/** The request is not a genuine, recent delivery. Respond with 401 and do nothing else. */
export class WebhookVerificationError extends OrgdirError {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookVerificationReason;
  /** The name of the invalid header in lower case, or null. */
  readonly header: string | null;

  constructor(reason: WebhookVerificationReason, message: string, header: string | null = null) {
    super(message);
    this.reason = reason;
    this.header = header;
  }
}
