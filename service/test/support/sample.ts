/** Values for the fields of a schema, so that a test meets a field that was added later, too. */
import type { TSchema } from 'typebox';
import { strictObject } from '../../src/contract/shapes.ts';
import { createValidator } from '../../src/contract/validate.ts';

type Json = Record<string, any>;

/** A value that `schema` takes. `number` is 1 or 2 and gives different values; no two names give the same text. */
export function sampleOf(name: string, schema: TSchema, number: number): unknown {
  const { enum: values, items, properties } = schema as Json;
  if (values) return values[number - 1];
  if (items) return [sampleOf(name, items, number)];
  if (properties) return samplesOf(properties, number, `${name}-`);
  const validate = createValidator(strictObject({ value: schema }));
  const sample = candidates(name.toLowerCase(), number).find(
    (value) => validate({ value }, name).ok,
  );
  if (sample === undefined) throw new Error(`sample.ts has no value for ${name}`);
  return sample;
}

export function samplesOf(properties: Json, number: number, prefix = ''): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      sampleOf(prefix + name, schema, number),
    ]),
  );
}

function candidates(name: string, number: number): unknown[] {
  return [
    number,
    number === 1,
    `${name}-${number}@example.org`,
    `${name}-${number}`,
    `https://example.org/${name}/${number}`,
    `2020-01-0${number}T00:00:00.000Z`,
    ['de', 'fr'][number - 1],
  ];
}
