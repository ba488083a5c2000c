/** The query parameters of the lists. */
import { Type, type Static } from 'typebox';
import { allianceSearch, allianceStatuses } from '../contract/alliance.ts';
import { blueprintSearch } from '../contract/blueprint.ts';
import { orgSearch, orgStatuses } from '../contract/organisation.ts';
import { facetsQuery } from '../contract/list-meta.ts';
import { noNul } from '../contract/shapes.ts';
import { slugPattern } from '../contract/patterns.ts';

/** A value of `changedSince` instead of a cursor: nothing, and the cursor from which changes go on. */
export const newest = 'now';

/** Keeps page × limit below 2^38, far from PostgreSQL's limit. */
export const pageMax = 2 ** 31;

export const limitDefault = 20;

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
    default: limitDefault,
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

/** The most values of a filter. */
export const repeatedMax = 100;

/** A text, or several by repeating the parameter. The keywords of each type apply to it alone. */
function repeated(
  description: string,
  schema: {
    minLength?: number;
    maxLength?: number;
    pattern?: string;
    enum?: string[];
    examples?: string[];
  } = {},
) {
  const {
    examples,
    enum: values,
    ...rules
  } = { ...noNul, minLength: 1, maxLength: 100, ...schema };
  const choice = values && { enum: values };
  return Type.Optional(
    Type.Unsafe<string | string[]>({
      type: ['string', 'array'],
      ...rules,
      // Unlike the other keywords, `enum` would apply to a list, too.
      // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
      ...(choice && { if: { type: 'string' }, then: choice }),
      items: { type: 'string', ...rules, ...choice, ...(examples && { examples }) },
      minItems: 1,
      maxItems: repeatedMax,
      description: `${description} Repeat the parameter for several, up to ${repeatedMax}.`,
    }),
  );
}

const memberCount = {
  memberCountMin: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Return only entries with at least so many members.' }),
  ),
  memberCountMax: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Return only entries with at most so many members.' }),
  ),
};
const slugText = { maxLength: 80, pattern: slugPattern };
const bySlug = repeated('Return only the entries with this slug.', {
  ...slugText,
  examples: ['acme-corporation'],
});
const byTag = repeated('Return only entries with this tag, regardless of case and accents.', {
  maxLength: 20,
});

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

const changedSince = Type.Optional(
  Type.String({
    ...noNul,
    minLength: 1,
    maxLength: 100,
    description: `Return the entries that have changed since this cursor, and under \`meta.changes\` the ids of those that are gone. The cursor is the \`nextCursor\` of an earlier response, or \`${newest}\` to get the first one. Only \`limit\` can be combined with it.`,
  }),
);

const timesAndName = ['name', 'createdAt', 'updatedAt'];

export const PageQuery = Type.Object(paging, { additionalProperties: false });
export type PageQuery = Static<typeof PageQuery>;

export const OrgQuery = Type.Object(
  {
    ...paging,
    search: search(orgSearch),
    slug: bySlug,
    alliance: repeated('Return only members of the alliance with this slug.', {
      ...slugText,
      examples: ['northern-league'],
    }),
    activity: repeated('Return only organisations with this primary or secondary activity.'),
    language: repeated('Return only organisations with this BCP 47 language tag.', {
      maxLength: 35,
    }),
    tag: byTag,
    location: repeated(
      'Return only organisations with this location, regardless of case and accents.',
      { maxLength: 200 },
    ),
    status: repeated('Return only organisations with this status.', { enum: orgStatuses }),
    verified: Type.Optional(
      Type.Boolean({ description: 'Return only organisations that are, or are not, verified.' }),
    ),
    ...memberCount,
    recruiting: Type.Optional(
      Type.Boolean({ description: 'Return only organisations that are, or are not, recruiting.' }),
    ),
    sort: sort([...timesAndName, 'memberCount']),
  },
  { additionalProperties: false },
);
export type OrgQuery = Static<typeof OrgQuery>;

export const orgFacets = [
  'activity',
  'language',
  'recruiting',
  'alliance',
  'verified',
  'status',
] as const;
export const PublicOrgQuery = Type.Object(
  { ...OrgQuery.properties, facets: facetsQuery(orgFacets), changedSince },
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
    slug: bySlug,
    tag: byTag,
    status: repeated('Return only alliances with this status.', { enum: allianceStatuses }),
    recruiting: Type.Optional(
      Type.Boolean({ description: 'Return only alliances that are, or are not, recruiting.' }),
    ),
    ...memberCount,
    sort: sort([...timesAndName, 'memberCount']),
  },
  { additionalProperties: false },
);
export type AllianceQuery = Static<typeof AllianceQuery>;

export const PublicAllianceQuery = Type.Object(
  { ...AllianceQuery.properties, changedSince },
  { additionalProperties: false },
);

export const BlueprintQuery = Type.Object(
  {
    ...paging,
    search: search(blueprintSearch),
    slug: bySlug,
    category: repeated('Return only blueprints of this category.', {
      ...slugText,
      examples: ['materials'],
    }),
    active: Type.Optional(
      Type.Boolean({
        description: 'Return only active (true) or only retired (false) blueprints. Default: both.',
      }),
    ),
    ingredient: repeated('Return only blueprints that need the item with this key or name.', {
      maxLength: 200,
      examples: ['diorite'],
    }),
    sort: sort(timesAndName),
  },
  { additionalProperties: false },
);
export type BlueprintQuery = Static<typeof BlueprintQuery>;

export const blueprintFacets = ['category'] as const;
export const PublicBlueprintQuery = Type.Object(
  { ...BlueprintQuery.properties, facets: facetsQuery(blueprintFacets), changedSince },
  { additionalProperties: false },
);
export type PublicBlueprintQuery = Static<typeof PublicBlueprintQuery>;
