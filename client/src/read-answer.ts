/** Takes an HTTP answer apart: what it holds, or why it is none. */
import { ApiError } from './api-error.ts';
import { readBytes } from './read-bytes.ts';
import { parseRetryAfter } from './retry-after.ts';
import { UnexpectedAnswerError } from './unexpected-answer-error.ts';

export type Answer =
  | { kind: 'answered'; content: unknown }
  | { kind: 'failed'; failure: ApiError | UnexpectedAnswerError };

type Envelope = {
  success?: unknown;
  error?: { code?: unknown; message?: unknown; details?: unknown };
};

/** A page of a hundred events of 64 KiB, and as much again for escapes; more is no answer of this service. */
const bodyBytesMax = 16 * 1024 * 1024;

/** `what` names the request in errors. Throws what `fetch` does where the answer breaks off. */
export async function readAnswer(what: string, response: Response): Promise<Answer> {
  const bytes = response.body && (await readBytes(response.body, bodyBytesMax));
  const content = bytes === null ? undefined : parse(bytes);
  if (response.ok && isAnswer(content)) return { kind: 'answered', content };
  return { kind: 'failed', failure: toError(what, response, content) };
}

function toError(
  what: string,
  response: Response,
  content: unknown,
): ApiError | UnexpectedAnswerError {
  const { status, headers } = response;
  const seen = {
    status,
    requestId: headers.get('x-request-id'),
    retryAfter: parseRetryAfter(headers.get('retry-after'), Date.now()),
  };
  const { error } = (isObject(content) ? content : {}) as Envelope;
  if (!isObject(error) || typeof error['code'] !== 'string')
    return new UnexpectedAnswerError({ ...seen, message: describe(what, response) });
  return new ApiError({
    ...seen,
    code: error['code'],
    message: String(error['message']),
    details: isObject(error['details']) ? error['details'] : {},
  });
}

function describe(what: string, { type, status }: Response): string {
  const redirected = type === 'opaqueredirect' || (status >= 300 && status < 400);
  return redirected
    ? `${what}: answered with a redirect; baseUrl must be the address that it leads to`
    : `${what}: answered ${status}, and not as the service does; is baseUrl its address?`;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** In the envelope, as all answers are but the description of the API. */
function isAnswer(content: unknown): boolean {
  return isObject(content) && (content['success'] === true || 'openapi' in content);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
