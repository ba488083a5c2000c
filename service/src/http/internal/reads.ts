/**
 * Operations that read the directory with its private fields. Nothing is cached: the platform must see its writes at
 * once.
 */
import { Blueprint } from '../../contract/blueprint.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import {
  ManagedAlliance,
  ManagedAllianceDetail,
  ManagedOrganisation,
} from '../../contract/managed.ts';
import { findBlueprint } from '../../directory/blueprints.ts';
import { AllianceQuery, BlueprintQuery, ManagedOrgQuery } from '../../directory/list-query.ts';
import {
  listManaged,
  readManagedAlliance,
  readManagedOrg,
} from '../../directory/managed-entries.ts';
import { ServiceError } from '../../errors.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { allianceParams, blueprintParams, operation, orgParams } from './surface.ts';

const read = { method: 'GET', returns: { 200: 'The result.' } } as const;

export const orgReads = [
  operation({
    ...read,
    operationId: 'listOrgs',
    path: '/orgs',
    summary: 'List organisations',
    description: 'Returns all organisations, listed or not, sorted by name by default.',
    query: ManagedOrgQuery,
    response: listOf(ManagedOrganisation, 'OrganisationList', examples.managedOrganisation),
    async run({ publicUrl, query, ...reads }) {
      const { total, rows } = await listManaged(reads, 'orgs', query, publicUrl);
      return pageEnvelope(rows, query, total);
    },
  }),
  operation({
    ...read,
    operationId: 'getOrg',
    tagged: true,
    path: '/orgs/:slug',
    params: orgParams,
    summary: 'Get an organisation',
    description: 'Returns the organisation with this slug, listed or not, with its private fields.',
    response: oneOf(ManagedOrganisation, 'OrganisationResponse', examples.managedOrganisation),
    run: async ({ database, publicUrl, params }) =>
      found(await readManagedOrg(database, params.slug, publicUrl)),
  }),
];

export const allianceReads = [
  operation({
    ...read,
    operationId: 'listAlliances',
    path: '/alliances',
    summary: 'List alliances',
    description: 'Returns the alliances, sorted by name by default.',
    query: AllianceQuery,
    response: listOf(ManagedAlliance, 'AllianceList', examples.managedAlliance),
    async run({ publicUrl, query, ...reads }) {
      const { total, rows } = await listManaged(reads, 'alliances', query, publicUrl);
      return pageEnvelope(rows, query, total);
    },
  }),
  operation({
    ...read,
    operationId: 'getAlliance',
    tagged: true,
    path: '/alliances/:slug',
    params: allianceParams,
    summary: 'Get an alliance',
    description: 'Returns the alliance with this slug, with its managers and all members.',
    response: oneOf(ManagedAllianceDetail, 'AllianceResponse', examples.managedAllianceDetail),
    run: async ({ database, publicUrl, params }) =>
      found(await readManagedAlliance(database, params.slug, publicUrl)),
  }),
];

export const blueprintReads = [
  operation({
    ...read,
    operationId: 'listBlueprints',
    path: '/blueprints',
    summary: 'List blueprints',
    description: 'Returns the blueprints, active and retired, sorted by name by default.',
    query: BlueprintQuery,
    response: listOf(Blueprint, 'BlueprintList', examples.blueprint),
    async run({ publicUrl, query, ...reads }) {
      const { total, rows } = await listManaged(reads, 'blueprints', query, publicUrl);
      return pageEnvelope(rows, query, total);
    },
  }),
  operation({
    ...read,
    operationId: 'getBlueprint',
    tagged: true,
    path: '/blueprints/:key',
    params: blueprintParams,
    summary: 'Get a blueprint',
    description: 'Returns the blueprint with this key.',
    response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
    run: async ({ database, params }) => found(await findBlueprint(database, params.key)),
  }),
];

/** Throws `not_found`. */
export function found(entry: object | null) {
  if (entry === null) throw new ServiceError('not_found');
  return envelope(entry);
}
