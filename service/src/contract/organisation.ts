import { Type, type Static } from 'typebox';
import {
  choice,
  count,
  flag,
  optionalAddress,
  optionalText,
  optionalTime,
  orNull,
  ownSlug,
  responseProperties,
  type Fields,
} from './field.ts';
import { languagePattern } from './patterns.ts';
import { aliases, links, managers, name, times } from './shared-fields.ts';
import { nullable, objectUrl, slug, strictObject, time, uuid } from './shapes.ts';

const AllianceReference = strictObject(
  {
    id: uuid(),
    slug: slug({ description: 'The unique name in URLs.', examples: ['northern-league'] }),
    name: Type.String({ description: 'The name of the alliance.', examples: ['Northern League'] }),
    tag: nullable(Type.String({ description: 'A short form of the name.', examples: ['NL'] })),
  },
  {
    title: 'AllianceReference',
    description: 'A summary of an alliance.',
  },
);

export const orgStatuses = ['active', 'closed'];

/** Every public field of an organisation, in the order of a response. CONTRIBUTING.md says how to add one. */
export const orgFields = {
  id: {
    column: 'id',
    type: 'uuid',
    schema: uuid({ description: 'The unique identifier. It never changes.' }),
  },
  slug: ownSlug(
    'The unique name in URLs. Changes when the organisation is renamed.',
    'acme-corporation',
  ),
  name: name('Acme Corporation'),
  tag: optionalText('tag', 20, 'A short form of the name. Not unique.', 'ACME'),
  aliases,
  description: optionalText(
    'description',
    5_000,
    'A description in plain text.',
    'Makers of everything.',
  ),
  primaryActivity: optionalText('primary_activity', 100, 'The main activity.', 'technology'),
  secondaryActivity: optionalText('secondary_activity', 100, 'Another activity.', 'trading'),
  commitment: optionalText(
    'commitment',
    100,
    'The level of commitment expected of members.',
    'casual',
  ),
  recruiting: flag('recruiting', false, 'Whether the organisation accepts new members.'),
  language: optionalText('language', 35, 'A BCP 47 language tag.', 'en', {
    pattern: languagePattern,
  }),
  timezone: optionalText('timezone', 64, 'An IANA time zone.', 'Europe/Berlin'),
  location: optionalText('location', 200, 'The location, as free text.', 'Germany'),
  memberCount: count('member_count', 'The number of members.'),
  logoUrl: optionalAddress('logo_url', 'The URL of the logo.'),
  bannerUrl: optionalAddress('banner_url', 'The URL of the banner, a wide image.'),
  links,
  alliance: {
    schema: nullable(AllianceReference),
    input: orNull(slug(), { description: 'The slug of its alliance, or null.' }),
  },
  verified: flag('verified', false, 'Whether the directory has verified the organisation.'),
  status: choice('status', orgStatuses, '`closed` organisations stay in the directory.'),
  foundedAt: optionalTime('founded_at', 'When the organisation was founded.'),
  url: { schema: objectUrl('orgs/acme-corporation') },
  createdAt: times.createdAt,
  updatedAt: {
    ...times.updatedAt,
    schema: time({
      description:
        'When a field of this object last changed, `alliance` only if it is another one.',
    }),
  },
} satisfies Fields;

/** The fields that `search` looks in. Only public ones: a search over private fields would reveal them. */
export const orgSearch: (keyof typeof orgFields)[] = [
  'name',
  'tag',
  'slug',
  'aliases',
  'description',
];

/** Fields that the public API never returns. */
export const privateOrgFields = {
  listed: flag(
    'listed',
    true,
    'Whether the organisation is public. An unlisted organisation appears in no public list, count or event.',
  ),
  contactEmail: optionalText(
    'contact_email',
    254,
    'A contact email address. Private.',
    'ada@example.org',
    { format: 'email' },
  ),
  chatServerId: optionalText(
    'chat_server_id',
    100,
    'The id of its chat server, for the chat sync. Private.',
    '81384788765712384',
  ),
  notes: optionalText('notes', 5_000, 'Notes for the operators of the directory. Private.'),
  managers,
} satisfies Fields;

export const managedOrgFields = { ...orgFields, ...privateOrgFields };

export const Organisation = strictObject(responseProperties(orgFields), {
  title: 'Organisation',
  description: 'An organisation.',
});
export type Organisation = Static<typeof Organisation>;
