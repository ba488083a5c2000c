/** What is sent of an organisation, an alliance or a blueprint: whole to put it, in part to patch it. */
import { Type, type TSchema } from 'typebox';
import { Blueprint } from '../../contract/blueprint.ts';
import { examples } from '../../contract/examples.ts';
import { ManagedAllianceDetail, ManagedOrganisation } from '../../contract/managed.ts';
import { slug, strictObject } from '../../contract/shapes.ts';
import { AllianceLine, BlueprintLine, OrgLine } from '../../directory/import-schemas.ts';
import { partial } from './partial.ts';

type Fields = Record<string, TSchema>;

/** As many as fit into an alliance that anybody would send by hand; more come with their organisations. */
const membersMax = 5_000;
const orgs = Type.Optional(
  Type.Array(slug(), {
    maxItems: membersMax,
    uniqueItems: true,
    description:
      'The slugs of all its members; one that is in another alliance leaves that. Left out, they stay who they are.',
  }),
);
const managers = 'The addresses of its managers, all of them. Left out, they stay who they are.';
const alliance = 'The slug of its alliance; null: it is in none.';

const org = describe(OrgLine.properties, ManagedOrganisation.properties, { alliance, managers });
const allianceFields = describe(
  { ...AllianceLine.properties, orgs },
  ManagedAllianceDetail.properties,
  { managers },
);
const blueprint = describe(BlueprintLine.properties, Blueprint.properties, {
  retiredAt:
    'When its source ceased to have it; goes only with `active: false`. Left out, it is when that was first told.',
});

/** What stands in the address may stand in the body as well, as it does in a line of an export. */
const same = (schema: TSchema, description: string) =>
  Type.Optional(Type.Unsafe({ ...schema, description }));
const sameSlug = same(slug(), 'The slug in the address; `PATCH` renames.');

export const OrgBody = strictObject(
  { ...org, slug: sameSlug },
  {
    title: 'OrganisationInput',
    description: 'An organisation, whole: a field left out goes back to its default.',
    examples: [examples.orgInput],
  },
);
export const AllianceBody = strictObject(
  { ...allianceFields, slug: sameSlug },
  {
    title: 'AllianceInput',
    description: 'An alliance, whole: a field left out goes back to its default.',
    examples: [examples.allianceInput],
  },
);
export const BlueprintBody = strictObject(
  { ...blueprint, key: same(BlueprintLine.properties.key, 'The key in the address.') },
  {
    title: 'BlueprintInput',
    description: 'A blueprint, whole: a field left out goes back to its default.',
    examples: [examples.blueprintInput],
  },
);

export const OrgChanges = partial(org, {
  title: 'OrganisationChanges',
  description: 'What to change of an organisation; what is left out stays.',
  examples: [{ memberCount: 43 }],
});
export const AllianceChanges = partial(allianceFields, {
  title: 'AllianceChanges',
  description: 'What to change of an alliance; what is left out stays.',
  examples: [{ recruiting: false }],
});
const { key: _, ...changeable } = blueprint;
export const BlueprintChanges = partial(changeable, {
  title: 'BlueprintChanges',
  description: 'What to change of a blueprint; what is left out stays. Its key never changes.',
  examples: [{ active: false }],
});

/** The same fields, described as those of what is read. */
function describe(fields: Fields, read: Fields, others: Record<string, string>): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => {
      const own = textOf(schema);
      const description = others[name] ?? own ?? (read[name] && textOf(read[name]));
      return [name, description === own ? schema : withText(schema, description ?? '')];
    }),
  );
}

function textOf(schema: TSchema): string | undefined {
  return (schema as { description?: string }).description;
}

function withText(schema: TSchema, description: string): TSchema {
  const described = Type.Unsafe({ ...schema, description });
  return Type.IsOptional(schema) ? Type.Optional(described) : described;
}
