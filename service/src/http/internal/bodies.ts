/** The bodies that write an organisation, an alliance or a blueprint: complete for PUT, partial for PATCH. */
import { Type, type TObject, type TSchema } from 'typebox';
import { slugReservedDays } from '../../contract/periods.ts';
import { examples } from '../../contract/examples.ts';
import { slug, strictObject } from '../../contract/shapes.ts';
import { AllianceInput, BlueprintInput, OrgInput } from '../../directory/inputs.ts';

/** Larger alliances set their members through the organisations. */
const membersMax = 5_000;
const orgs = Type.Optional(
  Type.Array(slug(), {
    maxItems: membersMax,
    uniqueItems: true,
    description:
      'The slugs of all members. A member of another alliance leaves it. If omitted, the members stay the same.',
  }),
);
const allianceFields = { ...AllianceInput.properties, orgs };

/** The body may repeat the slug or key of the URL, as the lines of an export do. */
const same = (schema: TSchema, description: string) =>
  Type.Optional(Type.Unsafe({ ...schema, description }));
const sameSlug = same(slug(), 'Must be the slug in the URL. Use `PATCH` to rename.');

export const OrgBody = strictObject(
  { ...OrgInput.properties, slug: sameSlug },
  {
    title: 'OrganisationInput',
    description: 'A complete organisation. Omitted fields get their defaults.',
    examples: [examples.orgInput],
  },
);
export const AllianceBody = strictObject(
  { ...allianceFields, slug: sameSlug },
  {
    title: 'AllianceInput',
    description: 'A complete alliance. Omitted fields get their defaults.',
    examples: [examples.allianceInput],
  },
);
export const BlueprintBody = strictObject(
  {
    ...BlueprintInput.properties,
    key: same(BlueprintInput.properties.key, 'Must be the key in the URL.'),
  },
  {
    title: 'BlueprintInput',
    description: 'A complete blueprint. Omitted fields get their defaults.',
    examples: [examples.blueprintInput],
  },
);

const newSlug = slug({
  description: `The new slug. The old one stays reserved for ${slugReservedDays} days.`,
});

/** Omitted links stay the same, too. */
const linkChanges = strictObject(
  Object.fromEntries(
    Object.entries(OrgInput.properties.links.properties).map(([name, schema]) => [
      name,
      Type.Optional(withoutDefault(schema)),
    ]),
  ),
  { description: 'Links to other sites. Omitted links stay the same.' },
);

export const OrgChanges = partial(OrgInput.properties, {
  title: 'OrganisationChanges',
  description: 'The fields to change. Omitted fields stay the same.',
  examples: [{ memberCount: 43 }],
});
export const AllianceChanges = partial(allianceFields, {
  title: 'AllianceChanges',
  description: 'The fields to change. Omitted fields stay the same.',
  examples: [{ recruiting: false }],
});
const { key: _, ...changeable } = BlueprintInput.properties;
export const BlueprintChanges = partial(changeable, {
  title: 'BlueprintChanges',
  description: 'The fields to change. Omitted fields stay the same. The key cannot change.',
  examples: [{ active: false }],
});

/** For PATCH: all fields are optional and have no defaults, and at least one is required. */
function partial(fields: Record<string, TSchema>, options: object): TObject {
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
