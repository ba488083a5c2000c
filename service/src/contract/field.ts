/** The kinds of fields that organisations, alliances and blueprints have. Each noun has a table of its fields. */
import { Type, type Static, type TSchema, type TUnsafe } from 'typebox';
import { nullable, slug, time, webAddress, state } from './shapes.ts';

type Field = {
  /** The schema in responses. */
  schema: TSchema;
  /** The schema in writes, with the default. Without it, the service sets the field. */
  input?: TSchema;
  /** A field without a column is computed, or stored in another table. */
  column?: string;
  /** The column's type in PostgreSQL. */
  type?: string;
};
export type Fields = Record<string, Field>;

export const requiredText = (
  column: string,
  description: string,
  example: string,
  rules: { maxLength: number; pattern?: string },
) => ({
  column,
  type: 'text',
  schema: Type.String({ description, examples: [example] }),
  input: Type.String({ minLength: 1, ...rules, description }),
});

export const optionalText = (
  column: string,
  maxLength: number,
  description: string,
  example?: string,
  rules: { pattern?: string; format?: string } = {},
) => ({
  column,
  type: 'text',
  schema: nullable(Type.String({ description, ...(example && { examples: [example] }) })),
  input: orNull(Type.String({ minLength: 1, maxLength }), { ...rules, description }),
});

/** If a write omits it, it is generated from the name. */
export const ownSlug = (description: string, example: string) => ({
  column: 'slug',
  type: 'text',
  schema: slug({ description, examples: [example] }),
  input: orNull(slug(), { description }),
});

export const optionalAddress = (column: string, description: string) => ({
  column,
  type: 'text',
  schema: nullable(webAddress({ description })),
  input: orNull(webAddress(), { description }),
});

export const optionalTime = (
  column: string,
  description: string,
  inputDescription = description,
) => ({
  column,
  type: 'timestamptz(3)',
  schema: nullable(time({ description })),
  input: orNull(time(), { description: inputDescription }),
});

export const flag = (column: string, value: boolean, description: string) => ({
  column,
  type: 'boolean',
  schema: Type.Boolean({ description }),
  input: Type.Boolean({ default: value, description }),
});

export const count = (column: string, description: string) => ({
  column,
  type: 'integer',
  schema: Type.Integer({ minimum: 0, description }),
  input: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description }),
});

/** Writes that omit it get the first of `values`. */
export const choice = <Values extends string[]>(
  column: string,
  values: readonly [...Values],
  description: string,
) => ({
  column,
  type: 'text',
  schema: state(values, description),
  input: Type.Enum(values, { type: 'string', default: values[0], description }),
});

/** If a write omits it, it is null. */
export const orNull = <T extends TSchema>(schema: T, options: object): TUnsafe<Static<T> | null> =>
  Type.Unsafe<Static<T> | null>({ ...nullable(schema), default: null, ...options });

type Schemas<F extends Fields> = { [Name in keyof F]: F[Name]['schema'] };
type Inputs<F extends Fields> = {
  [Name in keyof F as F[Name] extends { input: TSchema } ? Name : never]: NonNullable<
    F[Name]['input']
  >;
};

export function responseProperties<F extends Fields>(fields: F): Schemas<F> {
  const entries = Object.entries(fields).map(([name, { schema }]) => [name, schema]);
  return Object.fromEntries(entries) as Schemas<F>;
}

export function inputProperties<F extends Fields>(fields: F): Inputs<F> {
  const entries = Object.entries(fields).flatMap(([name, { input }]) =>
    input ? [[name, input]] : [],
  );
  return Object.fromEntries(entries) as Inputs<F>;
}
