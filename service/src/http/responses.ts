/** The answers of an operation as its route schema states them, errors included, each with an example. */
import type { TSchema } from 'typebox';
import { errorBody, ErrorEnvelope, list, meta, success } from '../contract/envelope.ts';
import { errorCatalogue, type ErrorCode } from '../errors.ts';

type Header = { description: string; schema: { type: string } };
type Answer = {
  description: string;
  headers?: Record<string, Header>;
  content?: Record<string, { schema: TSchema; examples: object }>;
};

const requestId: Record<string, Header> = {
  'X-Request-Id': {
    description: 'Names this request; quote it when you ask for help.',
    schema: { type: 'string' },
  },
};

/** Errors that every operation can give. */
const everywhere: ErrorCode[] = [
  'validation_failed',
  'rate_limited',
  'internal_error',
  'unavailable',
];
const keyed: ErrorCode[] = ['unauthorized', 'forbidden', 'maintenance'];
const withBody: ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];

export const errorsOf = {
  open: everywhere,
  keyed: [...everywhere, ...keyed],
  keyedResource: [...everywhere, ...keyed, 'not_found'] as ErrorCode[],
  keyedBody: [...everywhere, ...keyed, ...withBody] as ErrorCode[],
  keyedResourceBody: [...everywhere, ...keyed, ...withBody, 'not_found'] as ErrorCode[],
};

export function oneOf(data: TSchema, title: string, example: unknown): TSchemaAndExample {
  return { schema: success(data, title), example: { success: true, data: example, meta } };
}

export function listOf(entry: TSchema, title: string, example: unknown): TSchemaAndExample {
  const pagination = { page: 1, limit: 20, total: 1, totalPages: 1 };
  return {
    schema: list(entry, title),
    example: { success: true, data: [example], meta, pagination },
  };
}

type TSchemaAndExample = { schema: TSchema; example: unknown };

/** The `response` of a route schema. Reads say that they answer 304. */
export function responses(
  status: 200 | 201,
  description: string,
  body: TSchemaAndExample,
  errors: ErrorCode[],
  options: { conditional?: boolean } = {},
): Record<string, Answer> {
  const answers: Record<string, Answer> = {
    [status]: {
      description,
      headers: { ...requestId, ...(options.conditional ? tag : {}) },
      content: json(body.schema, { example: { value: body.example } }),
    },
  };
  if (options.conditional)
    answers['304'] = {
      description: 'It is still what `If-None-Match` names.',
      headers: { ...requestId, ...tag },
    };
  for (const [code, ofStatus] of groupByStatus(errors)) answers[code] = errorAnswer(ofStatus);
  return answers;
}

const tag: Record<string, Header> = {
  ETag: {
    description: 'A strong tag of the content, for `If-None-Match`.',
    schema: { type: 'string' },
  },
};

function groupByStatus(errors: ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of errors) {
    const { status } = errorCatalogue[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

function errorAnswer(codes: ErrorCode[]): Answer {
  const examples = Object.fromEntries(
    codes.map((code) => [
      code,
      { value: errorBody(code, errorCatalogue[code].message, exampleDetails(code)) },
    ]),
  );
  return {
    description: codes.map((code) => errorCatalogue[code].message).join(' Or: '),
    headers: requestId,
    content: json(ErrorEnvelope, examples),
  };
}

function exampleDetails(code: ErrorCode): Record<string, unknown> {
  if (code === 'validation_failed')
    return { issues: [{ path: 'query.limit', message: 'must be <= 100' }] };
  return code === 'forbidden' ? { requiredScope: 'read:directory' } : {};
}

function json(schema: TSchema, examples: object) {
  return { 'application/json': { schema, examples } };
}
