import { Type, type Static } from 'typebox';
import { nullable, slug, strictObject, time, uuid, webAddress } from './shapes.ts';

export const Links = strictObject(
  {
    website: nullable(webAddress()),
    chat: nullable(webAddress()),
    video: nullable(webAddress()),
    social: nullable(webAddress()),
  },
  { title: 'Links', description: 'Where else to find it.' },
);

const AllianceReference = strictObject(
  { id: uuid(), slug: slug(), name: Type.String(), tag: nullable(Type.String()) },
  { title: 'AllianceReference' },
);

/** An organisation as everyone may see it. */
export const Organisation = strictObject(
  {
    id: uuid(),
    slug: slug(),
    name: Type.String({ examples: ['Acme Corporation'] }),
    tag: nullable(Type.String({ examples: ['ACME'] })),
    description: nullable(Type.String()),
    primaryActivity: nullable(Type.String({ examples: ['technology'] })),
    secondaryActivity: nullable(Type.String()),
    commitment: nullable(Type.String()),
    recruiting: Type.Boolean(),
    language: nullable(Type.String({ description: 'A BCP 47 language tag.', examples: ['en'] })),
    timezone: nullable(
      Type.String({ description: 'An IANA time zone.', examples: ['Europe/Berlin'] }),
    ),
    location: nullable(Type.String()),
    memberCount: Type.Integer({ minimum: 0 }),
    logoUrl: nullable(webAddress()),
    bannerUrl: nullable(webAddress()),
    links: Links,
    alliance: nullable(AllianceReference),
    verified: Type.Boolean(),
    status: Type.Enum(['active', 'closed'], { type: 'string' }),
    foundedAt: nullable(time()),
    url: Type.String({ format: 'uri', description: 'Where this object is read.' }),
    createdAt: time(),
    updatedAt: time({ description: 'Moves only when a field of this object does.' }),
  },
  { title: 'Organisation', description: 'An organisation of the directory.' },
);
export type Organisation = Static<typeof Organisation>;
