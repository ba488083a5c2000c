/** Makes all fields of an entry optional and removes their defaults, for PATCH. */
import { Type, type TObject, type TSchema } from 'typebox';
import { slugReservedDays } from '../../contract/periods.ts';
import { slug, strictObject } from '../../contract/shapes.ts';
import { OrgInput } from '../../directory/inputs.ts';

const newSlug = slug({
  description: `The new slug. The old one stays reserved for ${slugReservedDays} days.`,
});

/** Omitted links stay the same, too. */
const linkChanges = Type.Object(
  Object.fromEntries(
    Object.entries(OrgInput.properties.links.properties).map(([name, schema]) => [
      name,
      Type.Optional(withoutDefault(schema)),
    ]),
  ),
  {
    additionalProperties: false,
    description: 'Links to other sites. Omitted links stay the same.',
  },
);

/** Requires at least one field. */
export function partial(fields: Record<string, TSchema>, options: object): TObject {
  const properties = Object.entries(fields).map(([name, schema]) => [name, asChange(name, schema)]);
  return strictObject(Object.fromEntries(properties) as Record<string, TSchema>, {
    ...options,
    minProperties: 1,
  });
}

function asChange(name: string, schema: TSchema): TSchema {
  if (name === 'slug') return Type.Optional(newSlug);
  return Type.Optional(name === 'links' ? linkChanges : withoutDefault(schema));
}

function withoutDefault(schema: TSchema): TSchema {
  const { default: __, ...rest } = schema as Record<string, unknown>;
  return Type.Unsafe(rest);
}
