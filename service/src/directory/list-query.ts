/** The query parameters of the lists. */
import { Type, type Static } from 'typebox';
import { allianceSearch } from '../contract/alliance.ts';
import { blueprintSearch } from '../contract/blueprint.ts';
import { orgSearch } from '../contract/organisation.ts';
import { facetsQuery } from '../contract/facets.ts';
import { noNul, slug } from '../contract/shapes.ts';

/** Keeps page × limit below 2^38, far from PostgreSQL's limit. */
export const pageMax = 2 ** 31;

const paging = {
  page: Type.Integer({
    minimum: 1,
    maximum: pageMax,
    default: 1,
    description: 'The page number, starting at 1. Pages past the last one are empty.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'The maximum number of entries on a page.',
  }),
};

const listFormat = new Intl.ListFormat('en-GB', { type: 'conjunction' });
const search = (fields: string[]) =>
  Type.Optional(
    Type.String({
      ...noNul,
      minLength: 1,
      maxLength: 100,
      description: `Words to find in ${listFormat.format(fields)}, in any order, regardless of case and accents. Each may be a part of a word. Without \`sort\`, the most relevant hits come first.`,
    }),
  );

function sort(keys: string[]) {
  return Type.Optional(
    Type.Enum(
      keys.flatMap((key) => [key, `-${key}`]),
      {
        type: 'string',
        description:
          'The field to sort by, in descending order with `-`. Ties are sorted by id. Default: by relevance in a search, otherwise by name.',
      },
    ),
  );
}

const timesAndName = ['name', 'createdAt', 'updatedAt'];

export const PageQuery = Type.Object(paging, { additionalProperties: false });
export type PageQuery = Static<typeof PageQuery>;

export const OrgQuery = Type.Object(
  {
    ...paging,
    search: search(orgSearch),
    alliance: Type.Optional(
      slug({
        description: 'Return only members of the alliance with this slug.',
        examples: ['northern-league'],
      }),
    ),
    activity: Type.Optional(
      Type.String({
        ...noNul,
        minLength: 1,
        maxLength: 100,
        description: 'Return only organisations with this primary or secondary activity.',
      }),
    ),
    language: Type.Optional(
      Type.String({
        ...noNul,
        minLength: 1,
        maxLength: 35,
        description: 'Return only organisations with this BCP 47 language tag.',
      }),
    ),
    recruiting: Type.Optional(
      Type.Boolean({ description: 'Return only organisations that are, or are not, recruiting.' }),
    ),
    sort: sort([...timesAndName, 'memberCount']),
  },
  { additionalProperties: false },
);
export type OrgQuery = Static<typeof OrgQuery>;

export const orgFacets = ['activity', 'language', 'recruiting', 'alliance'] as const;
export const PublicOrgQuery = Type.Object(
  { ...OrgQuery.properties, facets: facetsQuery(orgFacets) },
  { additionalProperties: false },
);
export type PublicOrgQuery = Static<typeof PublicOrgQuery>;

/** The public parameters and filters on private fields. */
export const ManagedOrgQuery = Type.Object(
  {
    ...OrgQuery.properties,
    listed: Type.Optional(
      Type.Boolean({
        description: 'Return only organisations that are, or are not, listed. Default: both.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ManagedOrgQuery = Static<typeof ManagedOrgQuery>;

export const AllianceQuery = Type.Object(
  {
    ...paging,
    search: search(allianceSearch),
    sort: sort([...timesAndName, 'memberCount']),
  },
  { additionalProperties: false },
);
export type AllianceQuery = Static<typeof AllianceQuery>;

export const BlueprintQuery = Type.Object(
  {
    ...paging,
    search: search(blueprintSearch),
    category: Type.Optional(
      slug({ description: 'Return only blueprints of this category.', examples: ['materials'] }),
    ),
    active: Type.Optional(
      Type.Boolean({
        description: 'Return only active (true) or only retired (false) blueprints. Default: both.',
      }),
    ),
    ingredient: Type.Optional(
      Type.String({
        ...noNul,
        minLength: 1,
        maxLength: 200,
        description: 'Return only blueprints that need the item with this key or name.',
        examples: ['diorite'],
      }),
    ),
    sort: sort(timesAndName),
  },
  { additionalProperties: false },
);
export type BlueprintQuery = Static<typeof BlueprintQuery>;

export const blueprintFacets = ['category'] as const;
export const PublicBlueprintQuery = Type.Object(
  { ...BlueprintQuery.properties, facets: facetsQuery(blueprintFacets) },
  { additionalProperties: false },
);
export type PublicBlueprintQuery = Static<typeof PublicBlueprintQuery>;
