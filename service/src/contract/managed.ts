/** Organisations and alliances in the internal API, with their private fields. */
import { Type, type Static } from 'typebox';
import { AllianceDetail, managedAllianceFields, OrganisationReference } from './alliance.ts';
import { responseProperties } from './field.ts';
import { managedOrgFields, privateOrgFields } from './organisation.ts';
import { managers } from './shared-fields.ts';
import { strictObject } from './shapes.ts';

export const ManagedOrganisation = strictObject(responseProperties(managedOrgFields), {
  title: 'ManagedOrganisation',
  description: 'An organisation with its private fields.',
});
export type ManagedOrganisation = Static<typeof ManagedOrganisation>;

export const ManagedAlliance = strictObject(responseProperties(managedAllianceFields), {
  title: 'ManagedAlliance',
  description: 'An alliance with its private fields.',
});
export type ManagedAlliance = Static<typeof ManagedAlliance>;

export const Member = strictObject(
  { ...OrganisationReference.properties, listed: privateOrgFields.listed.schema },
  { title: 'Member', description: 'A member organisation of an alliance, listed or not.' },
);

export const ManagedAllianceDetail = strictObject(
  {
    ...AllianceDetail.properties,
    orgs: Type.Array(Member, { description: 'All member organisations, sorted by name.' }),
    managers: managers.schema,
  },
  {
    title: 'ManagedAllianceDetail',
    description: 'An alliance with its private fields and all member organisations.',
  },
);
export type ManagedAllianceDetail = Static<typeof ManagedAllianceDetail>;
