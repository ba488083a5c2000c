/** Organisations and alliances as the platform sees them: what is public, and what never leaves through the public API. */
import { Type, type Static } from 'typebox';
import { Alliance, AllianceDetail, OrganisationReference } from './alliance.ts';
import { Organisation } from './organisation.ts';
import { nullable, strictObject } from './shapes.ts';

const managers = Type.Array(Type.String(), {
  description: 'The addresses of its managers, in order.',
  examples: [['ada@example.org']],
});
const listed = Type.Boolean({
  description:
    'Whether the public sees it. One that is not listed is in no list, no count and no event.',
});

export const ManagedOrganisation = strictObject(
  {
    ...Organisation.properties,
    listed,
    contactEmail: nullable(
      Type.String({ description: 'Whom to write to. Private.', examples: ['ada@example.org'] }),
    ),
    chatServerId: nullable(
      Type.String({
        description: 'Its chat server, as the chat sync knows it. Private.',
        examples: ['81384788765712384'],
      }),
    ),
    notes: nullable(Type.String({ description: 'For those who run the directory. Private.' })),
    managers,
  },
  { title: 'ManagedOrganisation', description: 'An organisation with its private fields.' },
);
export type ManagedOrganisation = Static<typeof ManagedOrganisation>;

export const ManagedAlliance = strictObject(
  { ...Alliance.properties, managers },
  { title: 'ManagedAlliance', description: 'An alliance with its private fields.' },
);
export type ManagedAlliance = Static<typeof ManagedAlliance>;

const Member = strictObject(
  { ...OrganisationReference.properties, listed },
  { title: 'Member', description: 'A member of an alliance, listed or not.' },
);

export const ManagedAllianceDetail = strictObject(
  {
    ...AllianceDetail.properties,
    orgs: Type.Array(Member, { description: 'All its members, by name.' }),
    managers,
  },
  {
    title: 'ManagedAllianceDetail',
    description: 'An alliance with its private fields and all its members.',
  },
);
export type ManagedAllianceDetail = Static<typeof ManagedAllianceDetail>;
