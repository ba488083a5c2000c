/** The `response` part of a route schema: successes and errors, each with an example. */
import { Type, type TProperties, type TSchema } from 'typebox';
import {
  envelope,
  errorBody,
  ErrorEnvelope,
  list,
  pageEnvelope,
  success,
} from '../../contract/envelope.ts';
import { errorCatalogue, type ErrorCode } from '../../errors.ts';

// Without an inner `schema`, because @fastify/swagger adds that level itself.
type Header = { description: string; type: 'string' | 'integer' };
type ResponseDescription = {
  description: string;
  headers: Record<string, Header>;
  /** Set to 'null' if there is no body. */
  type?: 'null';
  content?: Record<string, object>;
};

const onEvery: Record<string, Header> = {
  'X-Request-Id': {
    type: 'string',
    description:
      'The id of the request. Include it when you contact the operator. You can send your own.',
  },
};
const onCounted: Record<string, Header> = {
  ...onEvery,
  'X-RateLimit-Limit': {
    type: 'integer',
    description: 'The number of requests allowed per minute.',
  },
  'X-RateLimit-Remaining': {
    type: 'integer',
    description: 'The number of requests left in this minute.',
  },
  'X-RateLimit-Reset': {
    type: 'integer',
    description: 'When the count resets, in seconds since 1970.',
  },
  'X-RateLimit-Scope': {
    type: 'string',
    description:
      'Which limit the others describe, the one with fewer requests left: `key` or `app`. Absent without a valid key.',
  },
};
const onTagged: Record<string, Header> = {
  ETag: { type: 'string', description: 'A strong entity tag of the content, for `If-None-Match`.' },
};
const retryAfter: Record<string, Header> = {
  'Retry-After': {
    type: 'integer',
    description: 'How long to wait before retrying, in seconds. Absent if waiting does not help.',
  },
};
/** The headers of a status in addition to those of all responses. */
const onStatus: Partial<Record<number, Record<string, Header>>> = {
  401: {
    'WWW-Authenticate': { type: 'string', description: 'How to authenticate: `Bearer`.' },
  },
  409: retryAfter,
  429: retryAfter,
  503: retryAfter,
};

/** Errors that every operation can return. */
const open: ErrorCode[] = ['validation_failed', 'rate_limited', 'internal_error'];
const keyed: ErrorCode[] = [
  ...open,
  'unauthorized',
  'suspended',
  'forbidden',
  'maintenance',
  'unavailable',
];
const withBody: ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];

export const errorsOf = {
  open,
  keyed,
  keyedBody: [...keyed, ...withBody],
};

export function oneOf(data: TSchema, title: string, example: unknown): TSchemaAndExample {
  return { schema: success(data, title), example: envelope(example) };
}

export function listOf(
  entry: TSchema,
  title: string,
  example: unknown,
  more?: TProperties,
): TSchemaAndExample {
  return {
    schema: list(entry, title, more),
    example: pageEnvelope([example], { page: 1, limit: 20 }, 1),
  };
}

/** The text of a whole list: a JSON object per line. */
export function linesOf(description: string, example: unknown): TSchemaAndExample {
  return {
    schema: Type.String({ description }),
    example: `${JSON.stringify(example)}\n`,
    mediaType: 'application/x-ndjson',
    headers: {
      'X-Next-Cursor': {
        type: 'string',
        description: 'Send it as `changedSince` to get what has changed since.',
      },
    },
  };
}

type TSchemaAndExample = {
  schema: TSchema;
  example: unknown;
  /** Default: JSON. */
  mediaType?: string;
  headers?: Record<string, Header>;
};

type Options = {
  /** Whether the operation can return 304. */
  conditional?: boolean;
  /** Whether the response has an `ETag`. */
  tagged?: boolean;
  /** Whether requests count towards the rate limit. Default: true. */
  counted?: boolean;
};

/** The `response` of a route schema. */
export function responses(
  status: 200 | 201 | 202,
  description: string,
  body: TSchemaAndExample,
  errors: ErrorCode[],
  { conditional = false, tagged = conditional, counted = true }: Options = {},
): Record<string, ResponseDescription> {
  const onAll = counted ? onCounted : onEvery;
  const headers = { ...onAll, ...(tagged ? onTagged : {}) };
  const byStatus: Record<string, ResponseDescription> = {
    [status]: {
      description,
      headers: { ...headers, ...body.headers },
      content: content(body.schema, { example: body.example }, body.mediaType),
    },
  };
  if (conditional)
    byStatus['304'] = {
      description: 'The content has not changed.',
      headers,
      type: 'null',
    };
  for (const [code, ofStatus] of groupByStatus(errors)) {
    // Maintenance and an unreachable database are reported before the request is counted.
    const common = code === 503 ? onEvery : onAll;
    byStatus[code] = errorResponse(ofStatus, { ...common, ...onStatus[code] });
  }
  return byStatus;
}

function groupByStatus(errors: ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of errors) {
    const { status } = errorCatalogue[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

function errorResponse(codes: ErrorCode[], headers: Record<string, Header>): ResponseDescription {
  const examples = Object.fromEntries(
    codes.map((code) => [
      code,
      {
        summary: errorCatalogue[code].message,
        value: errorBody(code, errorCatalogue[code].message, exampleDetails(code)),
      },
    ]),
  );
  return {
    description: codes.map((code) => errorCatalogue[code].message).join(' Or: '),
    headers,
    content: content(ErrorEnvelope, { examples }),
  };
}

function exampleDetails(code: ErrorCode): Record<string, unknown> {
  switch (code) {
    case 'validation_failed':
      return { issues: [{ path: 'query.limit', message: 'must be <= 100' }] };
    case 'suspended':
      return { subject: 'key', suspendedAt: '2026-11-20T12:00:00.000Z', reason: 'Leaked key.' };
    case 'forbidden':
      return { requiredScope: 'read:directory' };
    case 'maintenance':
      return { since: '2026-11-20T12:00:00.000Z', expectedEnd: '2026-11-20T14:00:00.000Z' };
    default:
      return {};
  }
}

function content(
  schema: TSchema,
  examples: { example: unknown } | { examples: object },
  mediaType = 'application/json',
) {
  return { [mediaType]: { schema, ...examples } };
}
