/** Every error that a caller can get, declared once with its HTTP status. */

export const errorCatalogue = {
  validation_failed: { status: 400, message: 'The request is not valid.' },
  unauthorized: { status: 401, message: 'A valid API key is required.' },
  forbidden: { status: 403, message: 'The API key lacks the scope that this operation requires.' },
  suspended: {
    status: 403,
    message: 'The operator has suspended the key, its app or the webhook.',
  },
  proof_required: { status: 403, message: 'Confirm that it is you first.' },
  not_found: { status: 404, message: 'There is no such route or resource.' },
  method_not_allowed: { status: 405, message: 'The resource does not support this method.' },
  conflict: { status: 409, message: 'The request conflicts with the state of the resource.' },
  cursor_expired: {
    status: 410,
    message: 'The changes since this cursor are not known any more. Read everything again.',
  },
  precondition_failed: {
    status: 412,
    message: 'The resource does not meet the precondition of the request.',
  },
  payload_too_large: { status: 413, message: 'The body is too large.' },
  unsupported_media_type: { status: 415, message: 'The body must be application/json.' },
  rate_limited: { status: 429, message: 'Too many requests.' },
  internal_error: { status: 500, message: 'Something went wrong on our side.' },
  maintenance: { status: 503, message: 'The service is under maintenance.' },
  unavailable: { status: 503, message: 'The service is unavailable for the moment.' },
} as const;

export type ErrorCode = keyof typeof errorCatalogue;

/** An invalid field: `path` is a JSON path without `$`, such as `query.page` or `body.url`. */
export type Issue = { path: string; message: string };

/** An expected failure with a message for the caller. `headers` are sent with the HTTP response. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string = errorCatalogue[code].message,
    options: {
      details?: Record<string, unknown>;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }
}

/** A `validation_failed` with its issues. */
export function invalid(...issues: Issue[]): ServiceError {
  const [first] = issues;
  const message = first
    ? `${first.path}: ${first.message}`
    : errorCatalogue.validation_failed.message;
  return new ServiceError('validation_failed', message, { details: { issues } });
}

/** The reason why the process cannot start or continue: printed as one line, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
