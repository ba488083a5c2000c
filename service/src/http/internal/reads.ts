/** Routes that read the directory with its private fields. Nothing is cached: the platform must see its writes at once. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import { Blueprint } from '../../contract/blueprint.ts';
import { pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import {
  ManagedAlliance,
  ManagedAllianceDetail,
  ManagedOrganisation,
} from '../../contract/managed.ts';
import { findBlueprint, listBlueprints } from '../../directory/blueprints.ts';
import { AllianceQuery, BlueprintQuery, ManagedOrgQuery } from '../../directory/list-query.ts';
import type { Page } from '../../directory/list.ts';
import { listManagedAlliances, readManagedAlliance } from '../../directory/managed-alliances.ts';
import { listManagedOrgs, readManagedOrg } from '../../directory/managed-orgs.ts';
import { ServiceError } from '../../errors.ts';
import { listOf, oneOf } from '../responses.ts';
import { toEntry } from '../response-cache.ts';
import { sendEntry } from '../send-entry.ts';
import { entryOf } from './entry-of.ts';
import {
  allianceParams,
  blueprintParams,
  config,
  internalErrors,
  internalResponses,
  noQuery,
  orgParams,
  security,
  type RouteDependencies,
} from './route.ts';

export function registerReads(
  v1: FastifyInstance,
  { database, publicUrl }: RouteDependencies,
): void {
  listRoute(v1, {
    url: '/orgs',
    operationId: 'listOrgs',
    tag: 'Organisations',
    query: ManagedOrgQuery,
    summary: 'List organisations',
    description: 'Returns all organisations, listed or not, sorted by name by default.',
    response: listOf(ManagedOrganisation, 'OrganisationList', examples.managedOrganisation),
    load: (query) => listManagedOrgs(database, query, publicUrl),
  });
  detailRoute(v1, {
    url: '/orgs/:slug',
    operationId: 'getOrg',
    tag: 'Organisations',
    params: orgParams,
    summary: 'Get an organisation',
    description: 'Returns the organisation with this slug, listed or not, with its private fields.',
    response: oneOf(ManagedOrganisation, 'OrganisationResponse', examples.managedOrganisation),
    load: ({ slug }) => readManagedOrg(database, slug, publicUrl),
  });
  listRoute(v1, {
    url: '/alliances',
    operationId: 'listAlliances',
    tag: 'Alliances',
    query: AllianceQuery,
    summary: 'List alliances',
    description: 'Returns the alliances, sorted by name by default.',
    response: listOf(ManagedAlliance, 'AllianceList', examples.managedAlliance),
    load: (query) => listManagedAlliances(database, query, publicUrl),
  });
  detailRoute(v1, {
    url: '/alliances/:slug',
    operationId: 'getAlliance',
    tag: 'Alliances',
    params: allianceParams,
    summary: 'Get an alliance',
    description: 'Returns the alliance with this slug, with its managers and all members.',
    response: oneOf(ManagedAllianceDetail, 'AllianceResponse', examples.managedAllianceDetail),
    load: ({ slug }) => readManagedAlliance(database, slug, publicUrl),
  });
  listRoute(v1, {
    url: '/blueprints',
    operationId: 'listBlueprints',
    tag: 'Blueprints',
    query: BlueprintQuery,
    summary: 'List blueprints',
    description: 'Returns the blueprints, active and retired, sorted by name by default.',
    response: listOf(Blueprint, 'BlueprintList', examples.blueprint),
    load: (query) => listBlueprints(database, query),
  });
  detailRoute(v1, {
    url: '/blueprints/:key',
    operationId: 'getBlueprint',
    tag: 'Blueprints',
    params: blueprintParams,
    summary: 'Get a blueprint',
    description: 'Returns the blueprint with this key.',
    response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
    load: ({ key }) => findBlueprint(database, key),
  });
}

type Operation = {
  url: string;
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  response: ReturnType<typeof oneOf>;
};

function listRoute<Query extends TSchema>(
  v1: FastifyInstance,
  operation: Operation & { query: Query; load: (query: Static<Query>) => Promise<Page<unknown>> },
): void {
  v1.withTypeProvider<TypeBoxTypeProvider>().get(
    operation.url,
    {
      config,
      schema: { ...documentation(operation, internalErrors.keyed), querystring: operation.query },
    },
    async (request, reply) => {
      const query = request.query as Static<Query> & { page: number; limit: number };
      const { total, rows } = await operation.load(query);
      return sendEntry(request, reply, toEntry(0, pageEnvelope(rows, query, total)));
    },
  );
}

function detailRoute<Params extends TObject>(
  v1: FastifyInstance,
  operation: Operation & {
    params: Params;
    load: (params: Static<Params>) => Promise<object | null>;
  },
): void {
  v1.get(
    operation.url,
    {
      config,
      schema: {
        ...documentation(operation, internalErrors.keyedResource),
        params: operation.params,
        querystring: noQuery,
      },
    },
    async (request: FastifyRequest, reply) => {
      const found = await operation.load(request.params as Static<Params>);
      if (found === null) throw new ServiceError('not_found');
      return sendEntry(request, reply, entryOf(found));
    },
  );
}

function documentation(operation: Operation, errors: typeof internalErrors.keyed) {
  return {
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
    security,
    response: internalResponses(200, 'The result.', operation.response, errors, {
      conditional: true,
    }),
  };
}
