import { Type, type Static } from 'typebox';
import {
  choice,
  flag,
  optionalAddress,
  optionalText,
  optionalTime,
  ownSlug,
  responseProperties,
  type Fields,
} from './field.ts';
import { aliases, links, managers, name, times } from './shared-fields.ts';
import { nullable, objectUrl, slug, strictObject, uuid } from './shapes.ts';

export const allianceStatuses = ['active', 'disbanded'];

/** Every public field of an alliance, in the order of a response. CONTRIBUTING.md says how to add one. */
export const allianceFields = {
  id: {
    column: 'id',
    type: 'uuid',
    schema: uuid({ description: 'The unique identifier. It never changes.' }),
  },
  slug: ownSlug(
    'The unique name in URLs. Changes when the alliance is renamed.',
    'northern-league',
  ),
  name: name('Northern League'),
  tag: optionalText('tag', 20, 'A short form of the name. Not unique.', 'NL'),
  aliases,
  description: optionalText(
    'description',
    5_000,
    'A description in plain text.',
    'Organisations of the north.',
  ),
  logoUrl: optionalAddress('logo_url', 'The URL of the logo.'),
  bannerUrl: optionalAddress('banner_url', 'The URL of the banner, a wide image.'),
  links,
  recruiting: flag('recruiting', false, 'Whether the alliance accepts new organisations.'),
  orgCount: {
    column: 'org_count',
    type: 'integer',
    schema: Type.Integer({ minimum: 0, description: 'The number of listed member organisations.' }),
  },
  memberCount: {
    column: 'member_count',
    type: 'bigint',
    schema: Type.Integer({
      minimum: 0,
      description: 'The total number of members of those organisations.',
    }),
  },
  status: choice('status', allianceStatuses, '`disbanded` alliances stay in the directory.'),
  foundedAt: optionalTime('founded_at', 'When the alliance was founded.'),
  url: { schema: objectUrl('alliances/northern-league') },
  ...times,
} satisfies Fields;

/** The fields that `search` looks in. */
export const allianceSearch: (keyof typeof allianceFields)[] = [
  'name',
  'tag',
  'slug',
  'aliases',
  'description',
];

export const managedAllianceFields = { ...allianceFields, managers };

export const Alliance = strictObject(responseProperties(allianceFields), {
  title: 'Alliance',
  description: 'An alliance of organisations.',
});
export type Alliance = Static<typeof Alliance>;

export const OrganisationReference = strictObject(
  {
    id: uuid(),
    slug: slug({ description: 'The unique name in URLs.' }),
    name: Type.String({
      description: 'The name of the organisation.',
      examples: ['Acme Corporation'],
    }),
    tag: nullable(Type.String({ description: 'A short form of the name.', examples: ['ACME'] })),
    memberCount: Type.Integer({ minimum: 0, description: 'The number of members.' }),
  },
  {
    title: 'OrganisationReference',
    description: 'A summary of a member organisation.',
  },
);

export const AllianceDetail = strictObject(
  {
    ...Alliance.properties,
    orgs: Type.Array(OrganisationReference, {
      description: 'The listed member organisations, sorted by name.',
    }),
  },
  { title: 'AllianceDetail', description: 'An alliance with its member organisations.' },
);
export type AllianceDetail = Static<typeof AllianceDetail>;
