import { OrgdirError } from './orgdir-error.ts';

/**
 * - `missing_header`: a header that the scheme needs is not there; `header` names it.
 * - `malformed_header`: it is there, twice or not as the scheme writes it.
 * - `too_old`, `too_new`: the signed time is further from now than the tolerance. A replay, or a clock that is wrong.
 * - `no_match`: no signature was made with one of the secrets over these bytes.
 * - `body_too_large`: more bytes than any delivery has.
 * - `malformed_body`: genuine, but not a delivery of this service.
 */
export type WebhookVerificationReason =
  | 'missing_header'
  | 'malformed_header'
  | 'too_old'
  | 'too_new'
  | 'no_match'
  | 'body_too_large'
  | 'malformed_body';

/** A request that is not a genuine, fresh delivery. Answer it with 401 and do nothing else. */
export class WebhookVerificationError extends OrgdirError {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookVerificationReason;
  /** The header at fault, in lower case; null where it is not a header's. */
  readonly header: string | null;

  constructor(reason: WebhookVerificationReason, message: string, header: string | null = null) {
    super(message);
    this.reason = reason;
    this.header = header;
  }
}
