/** Reads an HTTP response: its content, or an error. */
import { ApiError } from './api-error.ts';
import { describeResponse } from './describe-response.ts';
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

/**
 * `operation` names the request in errors, and `secret` is kept out of them. Throws the error of `fetch` if the response breaks
 * off.
 */
export async function readResponse(
  operation: string,
  response: Response,
  secret: string | null,
): Promise<Result> {
  const bytes = response.body && (await readBytes(response.body, bodyBytesMax));
  const text = bytes === null ? '' : new TextDecoder().decode(bytes);
  const content = parse(text);
  if (response.ok && isServiceResponse(content)) return { kind: 'content', content };
  const describe = () => describeResponse(operation, response, text, secret);
  return { kind: 'failed', failure: toError(response, content, describe) };
}

function toError(
  { status, headers }: Response,
  content: unknown,
  describe: () => string,
): ApiError | UnexpectedResponseError {
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
    return new UnexpectedResponseError({ ...common, message: describe() });
  return new ApiError({
    ...common,
    code: error['code'],
    message: String(error['message']),
    details: isObject(error['details']) ? error['details'] : {},
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
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
