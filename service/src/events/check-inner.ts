import type { TSchema } from 'typebox';
import { createValidator, type Validator } from '../contract/validate.ts';
import { catalogue, type EventName } from './catalogue.ts';

/** Checks the data that a publisher supplies for an event, its inner object, against the catalogue. */
export function checkInner(name: EventName, data: unknown): ReturnType<Validator<unknown>> {
  const { inner, data: schema } = catalogue[name];
  const { properties } = schema as unknown as { properties: Record<string, TSchema> };
  const innerSchema = inner === null ? undefined : properties[inner];
  if (!innerSchema) throw new Error(`nobody supplies anything of ${name}`);
  return createValidator(innerSchema)(data, 'data');
}
