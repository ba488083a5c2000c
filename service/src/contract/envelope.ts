/** The envelope of every response: docs/reference/reads.md#response-format. Nothing in it differs from request to request. */
import { Type, type Static, type TSchema } from 'typebox';
import { errorCatalogue, type ErrorCode } from '../errors.ts';
import { nullable, strictObject } from './shapes.ts';

export const apiVersion = 'v1';
export const meta = { apiVersion } as const;

const Meta = strictObject(
  { apiVersion: Type.Literal('v1', { description: 'The version of the API that answered.' }) },
  { title: 'Meta', description: 'What is known of the answer itself.' },
);

export const Pagination = strictObject(
  {
    page: Type.Integer({ minimum: 1, description: 'The page that this is, counted from 1.' }),
    limit: Type.Integer({ minimum: 1, maximum: 100, description: 'Entries on a full page.' }),
    total: Type.Integer({ minimum: 0, description: 'Entries on all pages together.' }),
    totalPages: Type.Integer({ minimum: 0, description: 'How many pages have entries.' }),
  },
  { title: 'Pagination', description: 'Where in the list this page is.' },
);
export type Pagination = Static<typeof Pagination>;

const succeeded = Type.Literal(true, { description: 'True here, false on every error.' });

export const success = (data: TSchema, title: string) =>
  strictObject({ success: succeeded, data, meta: Meta }, { title });

export const list = (entry: TSchema, title: string) =>
  strictObject(
    {
      success: succeeded,
      data: Type.Array(entry, { description: 'The entries of this page.' }),
      meta: Meta,
      pagination: Pagination,
    },
    { title },
  );

const CursorPagination = strictObject(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, description: 'Entries a page.' }),
    nextCursor: nullable(
      Type.String({
        description: 'Send it as `after` to go on, now or later; null: nothing ever happened.',
      }),
    ),
    hasMore: Type.Boolean({ description: 'Whether there may be more right now.' }),
  },
  { title: 'CursorPagination', description: 'Where in the stream this page ends.' },
);

export const cursorList = (entry: TSchema, title: string) =>
  strictObject(
    {
      success: succeeded,
      data: Type.Array(entry, { description: 'The entries of this page.' }),
      meta: Meta,
      pagination: CursorPagination,
    },
    { title },
  );

const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];

export const ErrorEnvelope = strictObject(
  {
    success: Type.Literal(false, { description: 'False on every error, true otherwise.' }),
    error: strictObject(
      {
        code: Type.Enum(errorCodes, {
          type: 'string',
          description: 'What went wrong, for programs. New codes may appear.',
        }),
        message: Type.String({ description: 'What went wrong, for people; the words may change.' }),
        details: Type.Record(Type.String(), Type.Unknown(), {
          description:
            'Always an object. `validation_failed` has `issues`, a list of `{ path, message }`; `forbidden` has `requiredScope`.',
        }),
      },
      { title: 'ErrorObject', description: 'One error.' },
    ),
  },
  { title: 'ErrorEnvelope', description: 'What every error looks like.' },
);

/** The body of a success. */
export function envelope(data: unknown) {
  return { success: true, data, meta };
}

/** The body of one page of a list. */
export function pageEnvelope(
  data: unknown[],
  query: { page: number; limit: number },
  total: number,
) {
  return { ...envelope(data), pagination: pagination(query, total) };
}

/** The body of an error. */
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
