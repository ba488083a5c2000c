/** The bodies that write an organisation, an alliance or a blueprint: complete for PUT, partial for PATCH. */
import { Type, type TSchema } from 'typebox';
import { examples } from '../../contract/examples.ts';
import { slug, strictObject } from '../../contract/shapes.ts';
import { AllianceInput, BlueprintInput, OrgInput } from '../../directory/inputs.ts';
import { partial } from './partial.ts';

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
