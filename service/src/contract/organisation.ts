import { Type, type Static } from 'typebox';
import { nullable, objectUrl, slug, strictObject, time, uuid, webAddress } from './shapes.ts';

export const Links = strictObject(
  {
    website: nullable(webAddress({ description: 'Its own web site.' })),
    chat: nullable(webAddress({ description: 'Where its members talk.' })),
    video: nullable(webAddress({ description: 'Its channel for films and streams.' })),
    social: nullable(webAddress({ description: 'Its page on a social network.' })),
  },
  { title: 'Links', description: 'Where else to find it.' },
);

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

/** An organisation as everyone may see it. */
export const Organisation = strictObject(
  {
    id: uuid({ description: 'Stays the same when the organisation is renamed.' }),
    slug: slug({ description: 'Its name in addresses; unique, and moves when it is renamed.' }),
    name: Type.String({ description: 'Its name.', examples: ['Acme Corporation'] }),
    tag: nullable(
      Type.String({ description: 'Its short form; several may share one.', examples: ['ACME'] }),
    ),
    description: nullable(
      Type.String({
        description: 'What it says of itself, as plain text.',
        examples: ['Makers of everything.'],
      }),
    ),
    primaryActivity: nullable(
      Type.String({ description: 'What it mostly does.', examples: ['technology'] }),
    ),
    secondaryActivity: nullable(
      Type.String({ description: 'What else it does.', examples: ['trading'] }),
    ),
    commitment: nullable(
      Type.String({ description: 'How much it asks of its members.', examples: ['casual'] }),
    ),
    recruiting: Type.Boolean({ description: 'Whether it takes new members.' }),
    language: nullable(Type.String({ description: 'A BCP 47 language tag.', examples: ['en'] })),
    timezone: nullable(
      Type.String({ description: 'An IANA time zone.', examples: ['Europe/Berlin'] }),
    ),
    location: nullable(
      Type.String({ description: 'Where it is, in its own words.', examples: ['Germany'] }),
    ),
    memberCount: Type.Integer({ minimum: 0, description: 'How many members it has.' }),
    logoUrl: nullable(webAddress({ description: 'Its logo, a picture.' })),
    bannerUrl: nullable(webAddress({ description: 'Its banner, a wide picture.' })),
    links: Links,
    alliance: nullable(AllianceReference),
    verified: Type.Boolean({
      description: 'Whether the directory has checked that it is what it says.',
    }),
    status: Type.Enum(['active', 'closed'], {
      type: 'string',
      description: 'Closed: it has ended and stays for the record.',
    }),
    foundedAt: nullable(time({ description: 'When it began, which may be long ago.' })),
    url: objectUrl('orgs/acme-corporation'),
    createdAt: time({ description: 'When it was added to the directory.' }),
    updatedAt: time({ description: 'Moves only when a field of this object does.' }),
  },
  { title: 'Organisation', description: 'An organisation of the directory.' },
);
export type Organisation = Static<typeof Organisation>;
