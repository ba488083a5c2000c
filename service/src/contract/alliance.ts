import { Type, type Static } from 'typebox';
import { Links } from './organisation.ts';
import { nullable, objectUrl, slug, strictObject, time, uuid, webAddress } from './shapes.ts';

const fields = {
  id: uuid({ description: 'Stays the same when the alliance is renamed.' }),
  slug: slug({
    description: 'Its name in addresses; unique, and moves when it is renamed.',
    examples: ['northern-league'],
  }),
  name: Type.String({ description: 'Its name.', examples: ['Northern League'] }),
  tag: nullable(
    Type.String({ description: 'Its short form; several may share one.', examples: ['NL'] }),
  ),
  description: nullable(
    Type.String({
      description: 'What it says of itself, as plain text.',
      examples: ['Organisations of the north.'],
    }),
  ),
  logoUrl: nullable(webAddress({ description: 'Its logo, a picture.' })),
  bannerUrl: nullable(webAddress({ description: 'Its banner, a wide picture.' })),
  links: Links,
  recruiting: Type.Boolean({ description: 'Whether it takes new organisations.' }),
  orgCount: Type.Integer({ minimum: 0, description: 'Member organisations that are listed.' }),
  memberCount: Type.Integer({
    minimum: 0,
    description: 'Members of those organisations together.',
  }),
  status: Type.Enum(['active', 'disbanded'], {
    type: 'string',
    description: 'Disbanded: it has ended and stays for the record.',
  }),
  foundedAt: nullable(time({ description: 'When it began, which may be long ago.' })),
  url: objectUrl('alliances/northern-league'),
  createdAt: time({ description: 'When it was added to the directory.' }),
  updatedAt: time({ description: 'Moves only when a field of this object does.' }),
};

export const Alliance = strictObject(fields, {
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
    ...fields,
    orgs: Type.Array(OrganisationReference, { description: 'Its listed organisations, by name.' }),
  },
  { title: 'AllianceDetail', description: 'An alliance with its organisations.' },
);
export type AllianceDetail = Static<typeof AllianceDetail>;
