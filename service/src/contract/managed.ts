/** Organisations and alliances as the platform sees them: what is public, and what never leaves through the public API. */
import { Type, type Static } from 'typebox';
import { AllianceDetail, managedAllianceFields, OrganisationReference } from './alliance.ts';
import { schemasOf } from './field.ts';
import { managedOrgFields, privateOrgFields } from './organisation.ts';
import { managers } from './shared-fields.ts';
import { strictObject } from './shapes.ts';

export const ManagedOrganisation = strictObject(schemasOf(managedOrgFields), {
  title: 'ManagedOrganisation',
  description: 'An organisation with its private fields.',
});
export type ManagedOrganisation = Static<typeof ManagedOrganisation>;

export const ManagedAlliance = strictObject(schemasOf(managedAllianceFields), {
  title: 'ManagedAlliance',
  description: 'An alliance with its private fields.',
});
export type ManagedAlliance = Static<typeof ManagedAlliance>;

export const Member = strictObject(
  { ...OrganisationReference.properties, listed: privateOrgFields.listed.schema },
  { title: 'Member', description: 'A member of an alliance, listed or not.' },
);

export const ManagedAllianceDetail = strictObject(
  {
    ...AllianceDetail.properties,
    orgs: Type.Array(Member, { description: 'All its members, by name.' }),
    managers: managers.schema,
  },
  {
    title: 'ManagedAllianceDetail',
    description: 'An alliance with its private fields and all its members.',
  },
);
export type ManagedAllianceDetail = Static<typeof ManagedAllianceDetail>;
