/** The envelope of every response: docs/reference/reads.md#response-format. It has no data of the request, so responses can be cached. */
import { Type, type Static, type TProperties, type TSchema } from 'typebox';
import { errorCatalogue, type ErrorCode } from '../errors.ts';
import { nullable, strictObject, count, boolean } from './shapes.ts';

export const apiVersion = 'v1';
export const meta = { apiVersion } as const;

const Meta = strictObject(
  { apiVersion: Type.Literal('v1', { description: 'The API version of this response.' }) },
  { title: 'Meta', description: 'Information about the response.' },
);

export const Pagination = strictObject(
  {
    page: Type.Integer({ minimum: 1, description: 'The page number, starting at 1.' }),
    limit: Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'The maximum number of entries on a page.',
    }),
    total: count('The number of entries on all pages.'),
    totalPages: count('The number of pages.'),
  },
  { title: 'Pagination', description: 'The position of this page in the list.' },
);
export type Pagination = Static<typeof Pagination>;

const succeeded = Type.Literal(true, { description: 'True, except in errors.' });

export const success = (data: TSchema, title: string) =>
  strictObject({ success: succeeded, data, meta: Meta }, { title });

/** `more` are the schemas of what else `meta` may have. */
export const list = (entry: TSchema, title: string, more?: TProperties) =>
  strictObject(
    {
      success: succeeded,
      data: Type.Array(entry, { description: 'The entries on this page.' }),
      meta: more
        ? strictObject(
            { ...Meta.properties, ...more },
            { title: `${title}Meta`, description: 'Information about the response.' },
          )
        : Meta,
      pagination: Pagination,
    },
    { title },
  );

const CursorPagination = strictObject(
  {
    limit: Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'The maximum number of entries on a page.',
    }),
    nextCursor: nullable(
      Type.String({
        description:
          'Send it as `after` to get the next page, now or later. As it was sent if the page is empty, and null if there was no `after` either.',
      }),
    ),
    hasMore: boolean('Whether there are more entries now.'),
  },
  { title: 'CursorPagination', description: 'The position where this page ends.' },
);

export const cursorList = (entry: TSchema, title: string) =>
  strictObject(
    {
      success: succeeded,
      data: Type.Array(entry, { description: 'The entries on this page.' }),
      meta: Meta,
      pagination: CursorPagination,
    },
    { title },
  );

const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];

export const ErrorObject = strictObject(
  {
    code: Type.String({
      description: `A machine-readable code. Codes today: ${errorCodes.map((code) => `\`${code}\``).join(', ')}. New codes may be added.`,
      examples: errorCodes,
    }),
    message: Type.String({ description: 'A message for people. The wording may change.' }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Always an object. `validation_failed` has `issues`, a list of `{ path, message }`, and `forbidden` has `requiredScope`.',
    }),
  },
  { title: 'ErrorObject', description: 'An error.' },
);

export const ErrorEnvelope = strictObject(
  {
    success: Type.Literal(false, { description: 'False in errors, true otherwise.' }),
    error: ErrorObject,
  },
  { title: 'ErrorEnvelope', description: 'The response body of an error.' },
);

/** The response body of a success. */
export function envelope(data: unknown) {
  return { success: true, data, meta };
}

/** The response body of one page of a list. */
export function pageEnvelope(
  data: unknown[],
  query: { page: number; limit: number },
  total: number,
  more: Record<string, unknown> = {},
) {
  return {
    ...envelope(data),
    meta: { ...meta, ...more },
    pagination: pagination(query, total),
  };
}

/** The response body of an error. */
export function errorBody(
  code: ErrorCode,
  message: string,
  details: Record<string, unknown>,
): Static<typeof ErrorEnvelope> {
  return { success: false, error: { code, message, details } };
}

function pagination(query: { page: number; limit: number }, total: number): Pagination {
  return {
    page: query.page,
    limit: query.limit,
    total,
    totalPages: Math.ceil(total / query.limit),
  };
}
