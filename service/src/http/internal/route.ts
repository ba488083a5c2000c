/** The schemas and dependencies that all routes of the internal API share. */
import { Type, type TSchema } from 'typebox';
import { slug } from '../../contract/shapes.ts';
import type { Database } from '../../database/database.ts';
import type { ErrorCode } from '../../errors.ts';
import { responses } from '../responses.ts';

export type RouteDependencies = {
  /** For reads. */
  database: Database;
  /** For writes. They wait for each other, and the public API must not wait for a connection behind them. */
  writes: Database;
  /** The base of URLs in events and responses. */
  publicUrl: string;
};

export const config = { scope: 'platform' } as const;
export { keySecurity as security } from '../admit.ts';
export { noQuery } from '../../contract/shapes.ts';

export const orgParams = Type.Object({
  slug: slug({ description: 'The unique name in URLs.', examples: ['acme-corporation'] }),
});
export const allianceParams = Type.Object({
  slug: slug({ description: 'The unique name in URLs.', examples: ['northern-league'] }),
});
export const blueprintParams = Type.Object({
  key: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'The unique key in the source.',
    examples: ['granite'],
  }),
});

/** `forbidden` also covers a host name that is not in INTERNAL_ALLOWED_HOSTS, with or without a key. */
const open: ErrorCode[] = ['validation_failed', 'internal_error', 'forbidden'];
const keyed: ErrorCode[] = [...open, 'unauthorized', 'unavailable'];
const withBody: ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];

/** The errors that an operation can return. */
export const internalErrors = {
  open,
  keyed,
  keyedResource: [...keyed, 'not_found'] as ErrorCode[],
  keyedBody: [...keyed, ...withBody],
  keyedResourceBody: [...keyed, ...withBody, 'not_found'] as ErrorCode[],
};

type Body = { schema: TSchema; example: unknown };
type Options = { conditional?: boolean; tagged?: boolean };

/** The `response` of a route schema. A `conditional` read can return 304; a `tagged` response has an `ETag`. */
export function internalResponses(
  status: 200 | 201 | 202,
  description: string,
  body: Body,
  errors: ErrorCode[],
  options: Options = {},
): ReturnType<typeof responses> {
  return responses(status, description, body, errors, { ...options, counted: false });
}
