/** The bodies that write an organisation, an alliance or a blueprint: complete for PUT, partial for PATCH. */
import { Type, type TSchema } from 'typebox';
import { examples } from '../../contract/examples.ts';
import { slug, strictObject } from '../../contract/shapes.ts';
import { AllianceInput, BlueprintInput, OrgInput } from '../../directory/inputs.ts';
import { partial } from './partial.ts';

/** More than anybody sends by hand; larger alliances set their members through the organisations. */
const membersMax = 5_000;
const orgs = Type.Optional(
  Type.Array(slug(), {
    maxItems: membersMax,
    uniqueItems: true,
    description:
      'The slugs of all its members; one that is in another alliance leaves that. Left out, they stay who they are.',
  }),
);
const allianceFields = { ...AllianceInput.properties, orgs };

/** The body may repeat the slug or key of the address, as a line of an export does. */
const same = (schema: TSchema, description: string) =>
  Type.Optional(Type.Unsafe({ ...schema, description }));
const sameSlug = same(slug(), 'The slug in the address; `PATCH` renames.');

export const OrgBody = strictObject(
  { ...OrgInput.properties, slug: sameSlug },
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
  {
    ...BlueprintInput.properties,
    key: same(BlueprintInput.properties.key, 'The key in the address.'),
  },
  {
    title: 'BlueprintInput',
    description: 'A blueprint, whole: a field left out goes back to its default.',
    examples: [examples.blueprintInput],
  },
);

export const OrgChanges = partial(OrgInput.properties, {
  title: 'OrganisationChanges',
  description: 'What to change of an organisation; what is left out stays.',
  examples: [{ memberCount: 43 }],
});
export const AllianceChanges = partial(allianceFields, {
  title: 'AllianceChanges',
  description: 'What to change of an alliance; what is left out stays.',
  examples: [{ recruiting: false }],
});
const { key: _, ...changeable } = BlueprintInput.properties;
export const BlueprintChanges = partial(changeable, {
  title: 'BlueprintChanges',
  description: 'What to change of a blueprint; what is left out stays. Its key never changes.',
  examples: [{ active: false }],
});
