/** Turns any thrown error into the error envelope. Only messages of the catalogue leave the process. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorBody } from '../../contract/envelope.ts';
import { isTemporary, unavailable } from '../../database/database.ts';
import { invalid, ServiceError } from '../../errors.ts';
import { otherMethodOf } from '../methods.ts';
import { hasHost } from '../connections/request-target.ts';

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = reportError(error, request);
  const page = request.server.errorPage;
  if (page && isPageAddress(request.url)) {
    reply.header('vary', 'Accept');
    if (request.headers.accept?.includes('text/html'))
      return sendErrorPage(known, page(known, request.url), reply);
  }
  return reply
    .code(known.status)
    .headers({ ...known.headers, 'cache-control': 'no-store' })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(known.code, known.message, known.details)));
}

/** Addresses that people open, as opposed to those of the APIs. */
function isPageAddress(url: string): boolean {
  return !/^\/(api\/v1|portal\/api|internal)(?![^/?])/.test(url);
}

function sendErrorPage(
  known: ServiceError,
  { headers, body }: ReturnType<NonNullable<FastifyInstance['errorPage']>>,
  reply: FastifyReply,
): FastifyReply {
  return reply
    .code(known.status)
    .headers({ ...known.headers, ...headers, 'cache-control': 'no-store' })
    .send(body);
}

/** Returns the error as the caller may see it, and logs it if the fault is on this side. */
export function reportError(error: unknown, request: FastifyRequest): ServiceError {
  const known = toServiceError(error, request);
  // Maintenance is planned, and the audit log has it.
  if (known.status >= 500 && known.code !== 'maintenance') logFailure(known, error, request);
  return known;
}

function toServiceError(error: unknown, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  // The client broke off its request. The error of its connection looks like one of the database's.
  if (error === request.raw.errored) return invalid({ path: 'body', message: 'ended early' });
  if (isTemporary(error)) return unavailable(error);
  return (
    fromFastify(error as FastifyError, request) ??
    new ServiceError('internal_error', undefined, { cause: error })
  );
}

function fromFastify(
  { code, statusCode }: FastifyError,
  { raw, routeOptions }: FastifyRequest,
): ServiceError | null {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return tooLarge(routeOptions.bodyLimit);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return invalid({
        path: 'body',
        message: 'must not be empty; send an object, or leave out the Content-Type',
      });
    case 'FST_ERR_BAD_URL':
      return hasHost(raw)
        ? new ServiceError('not_found')
        : invalid({ path: 'headers.host', message: 'must be sent once' });
    case 'FST_ERR_MAX_PARAM_LENGTH':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return new ServiceError('not_found');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid({ path: 'body', message: 'must be as long as Content-Length says' });
    default:
      return statusCode === 400 ? invalid({ path: 'body', message: 'must be JSON' }) : null;
  }
}

const mebibyte = 1024 * 1024;

export function tooLarge(bodyBytesMax: number): ServiceError {
  const size =
    bodyBytesMax < mebibyte ? `${bodyBytesMax / 1024} KiB` : `${bodyBytesMax / mebibyte} MiB`;
  return new ServiceError('payload_too_large', `The body is larger than ${size}.`);
}

/** Lines per second and code, however many requests fail: enough to see which. */
const failureLinesMax = 10;
const failures = new Map<string, { second: number; lines: number; unlogged: number }>();

function logFailure(known: ServiceError, error: unknown, request: FastifyRequest): void {
  const unlogged = countUnlogged(known.code);
  if (unlogged === null) return;
  const { message, code } = error as { message?: string; code?: string };
  // An unreachable or busy database is one condition, not a bug in each request, so no stack is logged.
  const detail =
    known.code === 'internal_error' ? { err: error } : { reason: message, reasonCode: code };
  request.log.error(
    {
      code: known.code,
      ...detail,
      ...(unlogged > 0 && { unlogged }),
      requestId: request.id,
      method: otherMethodOf(request) ?? request.method,
      route: request.routeOptions.url,
    },
    'request.failed',
  );
}

/** Returns how many failures with this code had no line since the last one; null if this one gets none either. */
function countUnlogged(code: ServiceError['code']): number | null {
  const second = Math.floor(performance.now() / 1_000);
  const now = failures.get(code) ?? { second, lines: 0, unlogged: 0 };
  failures.set(code, now);
  if (now.second !== second) Object.assign(now, { second, lines: 0 });
  if (now.lines === failureLinesMax) {
    now.unlogged += 1;
    return null;
  }
  const { unlogged } = now;
  now.lines += 1;
  now.unlogged = 0;
  return unlogged;
}
