/** Building blocks of the API's schemas. A schema is the validation, the type and the documentation. */
import { Type, type Static, type TSchema, type TUnsafe } from 'typebox';
import {
  idempotencyKeyPattern,
  plainNamePattern,
  plainTextPattern,
  slugPattern,
  webAddressPattern,
} from './patterns.ts';

/** A nullable field is always present. Simple types list null in `type`, named objects in `anyOf`. */
export function nullable<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, title, enum: values, ...rest } = schema as TSchema & Record<string, unknown>;
  if (typeof type !== 'string' || title !== undefined) {
    return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] });
  }
  const choices = Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {};
  return Type.Unsafe<Static<T> | null>({ ...rest, ...choices, type: [type, 'null'] });
}

/** PostgreSQL cannot store U+0000, so no text may contain it. */
export const noNul = { pattern: '^[^\\u0000]*$' };

/** Text that its author shows to others. */
export const plainText = { pattern: plainTextPattern };

/** The longest name, in characters. */
export const nameCharsMax = 100;

/** Must not be only spaces. */
export const plainName = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: nameCharsMax,
    pattern: plainNamePattern,
    description: `${description}, without control characters.`,
    examples: [example],
  });

export const idempotencyKey = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: idempotencyKeyPattern,
    description,
    examples: [example],
  });

/** An object with these fields and no others. `title` names it in openapi.json. */
export function strictObject<T extends Record<string, TSchema>>(
  properties: T,
  options: object = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The query of an operation that has no parameters. */
export const noQuery = strictObject({});

export const uuid = (options: object = {}) =>
  Type.String({
    format: 'uuid',
    description: 'The unique identifier.',
    examples: ['0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f'],
    ...options,
  });

/** The response to a deletion. `idDescription` describes the id. */
export const deleted = (
  idDescription: string,
  options: { title?: string; description?: string } = {},
) =>
  strictObject(
    {
      id: uuid({ description: idDescription }),
      deleted: Type.Literal(true, { description: 'Always true.' }),
    },
    options,
  );

export const time = (options: object = {}) =>
  Type.String({ format: 'date-time', examples: ['2026-11-20T12:00:00.000Z'], ...options });

/** One of these values. */
export const enumOf = <const Values extends string[]>(
  values: readonly [...Values],
  description: string,
) => Type.Enum(values, { type: 'string', description });

export const boolean = (description: string) => Type.Boolean({ description });

export const count = (description: string) => Type.Integer({ minimum: 0, description });

export const text = (description: string, example: string) =>
  Type.String({ description, examples: [example] });

/** A string that describes a state. It may gain values, so openapi.json lists those of now without excluding others. */
export const state = <const Values extends string[]>(
  values: readonly [...Values],
  description: string,
) => Type.Enum(values, { type: 'string', 'x-extensible-enum': true, description });

/** What an operator's suspension says. `what`: of what, such as "the key". */
export const suspensionFields = (what: string) => ({
  suspendedAt: nullable(time({ description: `When the operator suspended ${what}.` })),
  suspendedReason: nullable(
    Type.String({
      description: `Why the operator suspended ${what}. Null if it is not suspended.`,
      examples: ['Too many complaints.'],
    }),
  ),
});

export const slug = (options: object = {}) =>
  Type.String({
    pattern: slugPattern,
    minLength: 1,
    maxLength: 80,
    examples: ['acme-corporation'],
    ...options,
  });

/** The API URL of an object. */
export const objectUrl = (example: string) =>
  Type.String({
    format: 'uri',
    description: 'The API URL of this object.',
    examples: [`https://directory.example.org/api/v1/${example}`],
  });

export const webAddress = (options: object = {}) =>
  Type.String({
    pattern: webAddressPattern,
    maxLength: 2048,
    examples: ['https://example.org'],
    ...options,
  });
