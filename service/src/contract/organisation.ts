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
  schemasOf,
  type Fields,
} from './field.ts';
import { links, managers, name, times } from './shared-fields.ts';
import { nullable, objectUrl, slug, strictObject, uuid } from './shapes.ts';

const AllianceReference = strictObject(
  {
    id: uuid(),
    slug: slug({ description: 'Its name in addresses.', examples: ['northern-league'] }),
    name: Type.String({ description: 'Its name.', examples: ['Northern League'] }),
    tag: nullable(Type.String({ description: 'Its short form.', examples: ['NL'] })),
  },
  {
    title: 'AllianceReference',
    description: 'An alliance as its organisations show it.',
  },
);

/** Every public field of an organisation, in the order of a response. CONTRIBUTING.md says how to add one. */
export const orgFields = {
  id: {
    column: 'id',
    type: 'uuid',
    schema: uuid({ description: 'Stays the same when the organisation is renamed.' }),
  },
  slug: ownSlug('Its name in addresses; unique, and moves when it is renamed.', 'acme-corporation'),
  name: name('Acme Corporation'),
  tag: optionalText('tag', 20, 'Its short form; several may share one.', 'ACME'),
  description: optionalText(
    'description',
    5_000,
    'What it says of itself, as plain text.',
    'Makers of everything.',
  ),
  primaryActivity: optionalText('primary_activity', 100, 'What it mostly does.', 'technology'),
  secondaryActivity: optionalText('secondary_activity', 100, 'What else it does.', 'trading'),
  commitment: optionalText('commitment', 100, 'How much it asks of its members.', 'casual'),
  recruiting: flag('recruiting', false, 'Whether it takes new members.'),
  language: optionalText('language', 35, 'A BCP 47 language tag.', 'en', {
    pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$',
  }),
  timezone: optionalText('timezone', 64, 'An IANA time zone.', 'Europe/Berlin'),
  location: optionalText('location', 200, 'Where it is, in its own words.', 'Germany'),
  memberCount: count('member_count', 'How many members it has.'),
  logoUrl: optionalAddress('logo_url', 'Its logo, a picture.'),
  bannerUrl: optionalAddress('banner_url', 'Its banner, a wide picture.'),
  links,
  alliance: {
    schema: nullable(AllianceReference),
    input: orNull(slug(), { description: 'The slug of its alliance; null: it is in none.' }),
  },
  verified: flag('verified', false, 'Whether the directory has checked that it is what it says.'),
  status: choice('status', ['active', 'closed'], 'Closed: it has ended and stays for the record.'),
  foundedAt: optionalTime('founded_at', 'When it began, which may be long ago.'),
  url: { schema: objectUrl('orgs/acme-corporation') },
  ...times,
} satisfies Fields;

/** The fields that `search` looks in: public ones, or a search would tell what is private. */
export const orgSearch: (keyof typeof orgFields)[] = ['name', 'tag', 'slug', 'description'];

/** Fields that never leave through the public API. */
export const privateOrgFields = {
  listed: flag(
    'listed',
    true,
    'Whether the public sees it. One that is not listed is in no list, no count and no event.',
  ),
  contactEmail: optionalText(
    'contact_email',
    254,
    'Whom to write to. Private.',
    'ada@example.org',
    { format: 'email' },
  ),
  chatServerId: optionalText(
    'chat_server_id',
    100,
    'Its chat server, as the chat sync knows it. Private.',
    '81384788765712384',
  ),
  notes: optionalText('notes', 5_000, 'For those who run the directory. Private.'),
  managers,
} satisfies Fields;

export const managedOrgFields = { ...orgFields, ...privateOrgFields };

/** An organisation as everyone may see it. */
export const Organisation = strictObject(schemasOf(orgFields), {
  title: 'Organisation',
  description: 'An organisation of the directory.',
});
export type Organisation = Static<typeof Organisation>;
