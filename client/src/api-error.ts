import { OrgdirError } from './orgdir-error.ts';

/** New codes may be added: handle unknown ones by their `status`. */
export type ApiErrorCode =
  | 'validation_failed'
  | 'unauthorized'
  | 'suspended'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'cursor_expired'
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

/** The service responded with an error. */
export class ApiError extends OrgdirError {
  override readonly name = 'ApiError';
  /** A machine-readable code. */
  readonly code: ApiErrorCode;
  /** The status of the HTTP response. */
  readonly status: number;
  /** `validation_failed` has `issues`, a list of `{ path, message }`; `forbidden` has `requiredScope`, `suspended` has `reason`. */
  readonly details: Record<string, unknown>;
  /** The `X-Request-Id` of the response, with which the operator can find the request. */
  readonly requestId: string | null;
  /** How long to wait before retrying, in seconds, if the service says so. */
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
