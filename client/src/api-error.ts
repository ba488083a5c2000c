import { OrgdirError } from './orgdir-error.ts';

/** New codes may appear: treat one that you do not know by its `status`. */
export type ApiErrorCode =
  | 'validation_failed'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'internal_error'
  | 'maintenance'
  | 'unavailable'
  | (string & {});

export type ApiErrorFields = {
  code: ApiErrorCode;
  status: number;
  message: string;
  details: Record<string, unknown>;
  requestId: string | null;
  retryAfter: number | null;
};

/** The service answered, and said no. */
export class ApiError extends OrgdirError {
  override readonly name = 'ApiError';
  /** What went wrong, for programs. */
  readonly code: ApiErrorCode;
  /** The status of the HTTP answer. */
  readonly status: number;
  /** `validation_failed` has `issues`, a list of `{ path, message }`; `forbidden` has `requiredScope`. */
  readonly details: Record<string, unknown>;
  /** The answer's `X-Request-Id`: the operator of the service finds the request by it. */
  readonly requestId: string | null;
  /** In how many seconds to ask again, where the service says so. */
  readonly retryAfter: number | null;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.code = fields.code;
    this.status = fields.status;
    this.details = fields.details;
    this.requestId = fields.requestId;
    this.retryAfter = fields.retryAfter;
  }
}
