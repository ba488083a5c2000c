/** Reads an HTTP response: its content, or an error. */
import { ApiError } from './api-error.ts';
import { readBytes } from './read-bytes.ts';
import { parseRetryAfter } from './retry-after.ts';
import { UnexpectedResponseError } from './unexpected-response-error.ts';

export type Result =
  | { kind: 'content'; content: unknown }
  | { kind: 'failed'; failure: ApiError | UnexpectedResponseError };

type Envelope = {
  success?: unknown;
  error?: { code?: unknown; message?: unknown; details?: unknown };
};

/** An alliance of a million organisations. No response of the service is larger; one of another server may not end. */
const bodyBytesMax = 256 * 1024 * 1024;

/** `operation` names the request in errors. Throws the error of `fetch` if the response breaks off. */
export async function readResponse(operation: string, response: Response): Promise<Result> {
  const bytes = response.body && (await readBytes(response.body, bodyBytesMax));
  const content = bytes === null ? undefined : parse(bytes);
  if (response.ok && isServiceResponse(content)) return { kind: 'content', content };
  return { kind: 'failed', failure: toError(operation, response, content) };
}

function toError(
  operation: string,
  response: Response,
  content: unknown,
): ApiError | UnexpectedResponseError {
  const { status, headers } = response;
  const common = {
    status,
    requestId: headers.get('x-request-id'),
    // By the server's clock, if it says: this machine's may be wrong.
    retryAfter: parseRetryAfter(
      headers.get('retry-after'),
      Date.parse(headers.get('date') ?? '') || Date.now(),
    ),
  };
  const { error } = (isObject(content) ? content : {}) as Envelope;
  if (!isObject(error) || typeof error['code'] !== 'string')
    return new UnexpectedResponseError({ ...common, message: describe(operation, response) });
  return new ApiError({
    ...common,
    code: error['code'],
    message: String(error['message']),
    details: isObject(error['details']) ? error['details'] : {},
  });
}

function describe(operation: string, { type, status }: Response): string {
  const redirected = type === 'opaqueredirect' || (status >= 300 && status < 400);
  return redirected
    ? `${operation}: the response is a redirect; set baseUrl to its target`
    : `${operation}: the response (status ${status}) is not from the service; check baseUrl`;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** All responses have the envelope, except the OpenAPI document. */
function isServiceResponse(content: unknown): boolean {
  return isObject(content) && (content['success'] === true || 'openapi' in content);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
