import { Type, type Static } from 'typebox';
import { Links } from './organisation.ts';
import { nullable, slug, strictObject, time, uuid, webAddress } from './shapes.ts';

const fields = {
  id: uuid(),
  slug: slug({ examples: ['northern-league'] }),
  name: Type.String({ examples: ['Northern League'] }),
  tag: nullable(Type.String({ examples: ['NL'] })),
  description: nullable(Type.String()),
  logoUrl: nullable(webAddress()),
  bannerUrl: nullable(webAddress()),
  links: Links,
  recruiting: Type.Boolean(),
  orgCount: Type.Integer({ minimum: 0, description: 'Member organisations that are listed.' }),
  memberCount: Type.Integer({
    minimum: 0,
    description: 'Members of those organisations together.',
  }),
  status: Type.Enum(['active', 'disbanded'], { type: 'string' }),
  foundedAt: nullable(time()),
  url: Type.String({ format: 'uri', description: 'Where this object is read.' }),
  createdAt: time(),
  updatedAt: time({ description: 'Moves only when a field of this object does.' }),
};

export const Alliance = strictObject(fields, {
  title: 'Alliance',
  description: 'An alliance of organisations.',
});
export type Alliance = Static<typeof Alliance>;

const OrganisationReference = strictObject(
  {
    id: uuid(),
    slug: slug(),
    name: Type.String(),
    tag: nullable(Type.String()),
    memberCount: Type.Integer({ minimum: 0 }),
  },
  { title: 'OrganisationReference' },
);

export const AllianceDetail = strictObject(
  {
    ...fields,
    orgs: Type.Array(OrganisationReference, { description: 'Its listed organisations, by name.' }),
  },
  { title: 'AllianceDetail', description: 'An alliance with its organisations.' },
);
export type AllianceDetail = Static<typeof AllianceDetail>;
