import { ApiError, NetworkError, TimeoutError, UnexpectedResponseError } from '@orgdir/client';
import { PasskeyError } from '../security/passkey-device.ts';

/** Replaces messages of the service that are meant for programs. */
const messages: Record<string, string> = {
  not_found: 'It was deleted, or it is not yours.',
  precondition_failed:
    'Nothing was saved. Copy what you typed, reload the page, and change what is there now.',
  proof_required: 'Nothing was changed, because you did not confirm that it is you.',
};

export type Described = {
  title: string;
  message: string;
  /** Lets the operator find the request in the logs. */
  requestId: string | null;
  /** Messages by the path of the field, for example `url` or `events.0`. */
  fields: Record<string, string>;
};

const titles: Record<string, string> = {
  maintenance: 'Maintenance: your apps cannot be changed right now',
  rate_limited: 'Too many requests',
  forbidden: 'This is not allowed',
  suspended: 'Suspended by the operator',
  proof_required: 'Not confirmed',
  not_found: 'Not found',
  conflict: 'Not possible now',
  precondition_failed: 'Somebody else has changed it',
  unauthorized: 'Your session has ended',
  unavailable: 'The service is not available right now',
  internal_error: 'The service failed',
};

/** `fallback`: the title if the error has none of its own. */
export function describeError(error: unknown, fallback = 'Something went wrong'): Described {
  if (error instanceof ApiError) return describeRefusal(error, fallback);
  if (error instanceof PasskeyError)
    return { title: 'No passkey was used', message: error.message, requestId: null, fields: {} };
  const title = 'No response from the service';
  if (error instanceof UnexpectedResponseError)
    return { title, message: error.message, requestId: error.requestId, fields: {} };
  if (error instanceof NetworkError || error instanceof TimeoutError)
    return { title, message: error.message, requestId: null, fields: {} };
  return {
    title: 'This page failed',
    message: 'Reload it. If it happens again, contact the operator of this service.',
    requestId: null,
    fields: {},
  };
}

function describeRefusal(
  { code, message, details, requestId, retryAfter }: ApiError,
  fallback: string,
): Described {
  const fields = Object.fromEntries(
    issuesOf(details).map(({ path, message: text }) => [
      path.replace(/^(body|query)\.?/, ''),
      text,
    ]),
  );
  const text =
    Object.keys(fields).length > 0
      ? issuesOf(details).map(describeIssue).join('; ')
      : (messages[code] ?? message);
  const wait = retryAfter === null ? '' : ` Try again in ${formatWait(retryAfter)}.`;
  return {
    title: titles[code] ?? fallback,
    message: `${text}${wait}`,
    requestId,
    fields,
  };
}

/** `42 seconds`, `59 minutes`. */
function formatWait(seconds: number): string {
  const [unit, count] = seconds < 120 ? ['second', seconds] : ['minute', Math.ceil(seconds / 60)];
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'long' }).format(
    count,
  );
}

type Issue = { path: string; message: string };

function issuesOf(details: Record<string, unknown>): Issue[] {
  const { issues } = details as { issues?: Issue[] };
  return Array.isArray(issues) ? issues : [];
}

function describeIssue({ path, message }: Issue): string {
  const name = path.replace(/^(body|query|params)\.?/, '');
  return name === '' ? message : `${name}: ${message}`;
}
