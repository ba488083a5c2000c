/** The fields that a write may have: a line of an import or a body of the internal API. Defaults are filled in. */
import type { Static, TSchema } from 'typebox';
import { managedAllianceFields } from '../contract/alliance.ts';
import { blueprintFields } from '../contract/blueprint.ts';
import { inputProperties } from '../contract/field.ts';
import { managedOrgFields } from '../contract/organisation.ts';
import { strictObject } from '../contract/shapes.ts';

/** CSV files and openapi.internal.json begin with these; the others follow in the order of the table. */
const leading = [
  'slug',
  'name',
  'tag',
  'description',
  'logoUrl',
  'bannerUrl',
  'links',
  'recruiting',
  'foundedAt',
] as const;

export const OrgInput = strictObject(inOrder(inputProperties(managedOrgFields)));
export type OrgInput = Static<typeof OrgInput>;

export const AllianceInput = strictObject(inOrder(inputProperties(managedAllianceFields)));
export type AllianceInput = Static<typeof AllianceInput>;

export const BlueprintInput = strictObject(inputProperties(blueprintFields));
export type BlueprintInput = Static<typeof BlueprintInput>;

function inOrder<T extends Record<(typeof leading)[number], TSchema>>(inputs: T): T {
  return { ...Object.fromEntries(leading.map((name) => [name, inputs[name]])), ...inputs };
}
