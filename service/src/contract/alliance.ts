import { Type, type Static } from 'typebox';
import {
  choice,
  flag,
  optionalAddress,
  optionalText,
  optionalTime,
  ownSlug,
  schemasOf,
  type Fields,
} from './field.ts';
import { links, managers, name, times } from './shared-fields.ts';
import { nullable, objectUrl, slug, strictObject, uuid } from './shapes.ts';

/** Every public field of an alliance, in the order of a response. CONTRIBUTING.md says how to add one. */
export const allianceFields = {
  id: {
    column: 'id',
    type: 'uuid',
    schema: uuid({ description: 'Stays the same when the alliance is renamed.' }),
  },
  slug: ownSlug('Its name in addresses; unique, and moves when it is renamed.', 'northern-league'),
  name: name('Northern League'),
  tag: optionalText('tag', 20, 'Its short form; several may share one.', 'NL'),
  description: optionalText(
    'description',
    5_000,
    'What it says of itself, as plain text.',
    'Organisations of the north.',
  ),
  logoUrl: optionalAddress('logo_url', 'Its logo, a picture.'),
  bannerUrl: optionalAddress('banner_url', 'Its banner, a wide picture.'),
  links,
  recruiting: flag('recruiting', false, 'Whether it takes new organisations.'),
  orgCount: {
    column: 'org_count',
    type: 'integer',
    schema: Type.Integer({ minimum: 0, description: 'Member organisations that are listed.' }),
  },
  memberCount: {
    column: 'member_count',
    type: 'bigint',
    schema: Type.Integer({ minimum: 0, description: 'Members of those organisations together.' }),
  },
  status: choice(
    'status',
    ['active', 'disbanded'],
    'Disbanded: it has ended and stays for the record.',
  ),
  foundedAt: optionalTime('founded_at', 'When it began, which may be long ago.'),
  url: { schema: objectUrl('alliances/northern-league') },
  ...times,
} satisfies Fields;

/** The fields that `search` looks in. */
export const allianceSearch: (keyof typeof allianceFields)[] = [
  'name',
  'tag',
  'slug',
  'description',
];

export const managedAllianceFields = { ...allianceFields, managers };

export const Alliance = strictObject(schemasOf(allianceFields), {
  title: 'Alliance',
  description: 'An alliance of organisations.',
});
export type Alliance = Static<typeof Alliance>;

export const OrganisationReference = strictObject(
  {
    id: uuid(),
    slug: slug({ description: 'Its name in addresses.' }),
    name: Type.String({ description: 'Its name.', examples: ['Acme Corporation'] }),
    tag: nullable(Type.String({ description: 'Its short form.', examples: ['ACME'] })),
    memberCount: Type.Integer({ minimum: 0, description: 'How many members it has.' }),
  },
  {
    title: 'OrganisationReference',
    description: 'An organisation as its alliance shows it.',
  },
);

export const AllianceDetail = strictObject(
  {
    ...Alliance.properties,
    orgs: Type.Array(OrganisationReference, { description: 'Its listed organisations, by name.' }),
  },
  { title: 'AllianceDetail', description: 'An alliance with its organisations.' },
);
export type AllianceDetail = Static<typeof AllianceDetail>;
