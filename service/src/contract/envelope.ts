/** What every answer is wrapped in (SPEC 2). Nothing in it differs from request to request. */
import { Type, type Static, type TSchema } from 'typebox';
import { errorCatalogue, type ErrorCode } from '../errors.ts';
import { strictObject } from './shapes.ts';

export const apiVersion = 'v1';
export const meta = { apiVersion } as const;

const Meta = strictObject({ apiVersion: Type.Literal('v1') }, { title: 'Meta' });

export const Pagination = strictObject(
  {
    page: Type.Integer({ minimum: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: 100 }),
    total: Type.Integer({ minimum: 0 }),
    totalPages: Type.Integer({ minimum: 0 }),
  },
  { title: 'Pagination' },
);
export type Pagination = Static<typeof Pagination>;

export const success = (data: TSchema, title: string) =>
  strictObject({ success: Type.Literal(true), data, meta: Meta }, { title });

export const list = (entry: TSchema, title: string) =>
  strictObject(
    { success: Type.Literal(true), data: Type.Array(entry), meta: Meta, pagination: Pagination },
    { title },
  );

const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];

export const ErrorEnvelope = strictObject(
  {
    success: Type.Literal(false),
    error: strictObject({
      code: Type.Enum(errorCodes, { type: 'string' }),
      message: Type.String(),
      details: Type.Record(Type.String(), Type.Unknown(), {
        description: 'Always an object. A validation error has `issues`: [{ path, message }].',
      }),
    }),
  },
  { title: 'ErrorEnvelope', description: 'What every error looks like.' },
);

/** The body of an error. */
export function errorBody(
  code: ErrorCode,
  message: string,
  details: Record<string, unknown>,
): Static<typeof ErrorEnvelope> {
  return { success: false, error: { code, message, details } };
}

export function pagination(query: { page: number; limit: number }, total: number): Pagination {
  return {
    page: query.page,
    limit: query.limit,
    total,
    totalPages: Math.ceil(total / query.limit),
  };
}
