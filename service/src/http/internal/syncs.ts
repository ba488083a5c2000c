/**
 * Routes that start syncs and read their runs. A run continues in the process that got the request; every process can
 * read its result.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { strictObject, uuid } from '../../contract/shapes.ts';
import { SyncRun, type SyncKind } from '../../contract/sync-run.ts';
import type { Database } from '../../database/database.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { ServiceError } from '../../errors.ts';
import { listRuns, readRun } from '../../sync/runs.ts';
import type { StartedSync, SyncOptions, Syncs } from '../../sync/syncs.ts';
import { listOf, oneOf } from '../responses.ts';
import { toEntry } from '../response-cache.ts';
import { sendEntry } from '../send-entry.ts';
import { withEmptyBody } from '../json-bodies.ts';
import { entryOf } from './entry-of.ts';
import { config, internalErrors, internalResponses, noQuery, security } from './route.ts';

export type SyncRouteDependencies = { database: Database; syncs: Pick<Syncs, 'begin'> };

const RunQuery = Type.Object(
  {
    ...PageQuery.properties,
    kind: Type.Optional(
      Type.Enum(['blueprints', 'chat'], {
        type: 'string',
        description: 'Return only runs of this sync.',
      }),
    ),
  },
  { additionalProperties: false },
);

const BlueprintSyncRequest = strictObject(
  {
    force: Type.Boolean({
      default: false,
      description: 'Continue even if more than half of the active blueprints would be retired.',
    }),
    skipBad: Type.Boolean({
      default: false,
      description: 'Skip invalid rows. Their blueprints stay unchanged.',
    }),
  },
  {
    title: 'BlueprintSyncRequest',
    description: 'The options of the run. Its source is part of the configuration.',
    examples: [{ skipBad: true }],
  },
);
const ChatSyncRequest = strictObject(
  {},
  { title: 'ChatSyncRequest', description: 'This request has no options.', examples: [{}] },
);

const common = { tags: ['System'], security };
const response = oneOf(SyncRun, 'SyncRunResponse', examples.syncRun);
const variablesOf: Record<SyncKind, string> = {
  blueprints: 'SYNC_BLUEPRINTS_URL',
  chat: 'CHAT_PROVIDER',
};

export function registerSyncs(v1: FastifyInstance, dependencies: SyncRouteDependencies): void {
  registerList(v1, dependencies);
  registerRun(v1, dependencies);
  registerStarts(v1, dependencies);
}

function registerList(v1: FastifyInstance, { database }: SyncRouteDependencies): void {
  v1.withTypeProvider<TypeBoxTypeProvider>().get(
    '/syncs',
    {
      config,
      schema: {
        ...common,
        operationId: 'listSyncs',
        summary: 'List sync runs',
        description:
          'Returns sync runs, newest first. The last few hundred of each kind are stored, and the last that succeeded.',
        querystring: RunQuery,
        response: internalResponses(
          200,
          'The result.',
          listOf(SyncRun, 'SyncRunList', examples.syncRun),
          internalErrors.keyed,
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      const { page, limit, kind = null } = request.query;
      const { total, runs } = await listRuns(database, { kind, page, limit });
      return sendEntry(request, reply, toEntry(0, pageEnvelope(runs, { page, limit }, total)));
    },
  );
}

function registerRun(v1: FastifyInstance, { database }: SyncRouteDependencies): void {
  v1.withTypeProvider<TypeBoxTypeProvider>().get(
    '/syncs/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'getSync',
        summary: 'Get a sync run',
        description: 'Returns the progress and the result of a run.',
        params: Type.Object({ id: uuid({ description: 'The id of the run.' }) }),
        querystring: noQuery,
        response: internalResponses(200, 'The result.', response, internalErrors.keyedResource, {
          conditional: true,
        }),
      },
    },
    async (request, reply) => {
      const run = await readRun(database, request.params.id);
      if (!run) throw new ServiceError('not_found');
      return sendEntry(request, reply, entryOf(run));
    },
  );
}

function registerStarts(v1: FastifyInstance, { syncs }: SyncRouteDependencies): void {
  const routes = v1.withTypeProvider<TypeBoxTypeProvider>();
  const started = internalResponses(202, 'The run was started.', response, [
    ...internalErrors.keyedBody,
    'conflict',
  ]);

  async function begin(reply: FastifyReply, kind: SyncKind, options: SyncOptions) {
    const run = requireStarted(kind, await syncs.begin(kind, options));
    return reply.code(202).send(envelope(run));
  }

  routes.post(
    '/syncs/blueprints',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'syncBlueprints',
        summary: 'Sync the blueprints',
        description:
          'Starts a run from the configured source (`SYNC_BLUEPRINTS_URL`) and returns at once. Get the result with `GET /syncs/{id}`. Returns `conflict` while another run is in progress in any process, or if no source is configured.',
        body: BlueprintSyncRequest,
        querystring: noQuery,
        response: started,
      },
    },
    async (request, reply) => begin(reply, 'blueprints', request.body),
  );

  routes.post(
    '/syncs/chat',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'syncChat',
        summary: 'Sync the member counts',
        description:
          'Starts a run from the configured provider (`CHAT_PROVIDER`) and returns at once. Get the result with `GET /syncs/{id}`. Returns `conflict` while another run is in progress in any process, or if no provider is configured.',
        body: ChatSyncRequest,
        querystring: noQuery,
        response: started,
      },
    },
    async (_request, reply) => begin(reply, 'chat', { force: false, skipBad: false }),
  );
}

function requireStarted(kind: SyncKind, started: StartedSync): SyncRun {
  if (started.kind === 'started') return started.run;
  if (started.kind === 'unconfigured')
    throw new ServiceError(
      'conflict',
      `This service has nothing to sync ${kind} from: ${variablesOf[kind]} is not set.`,
    );
  throw new ServiceError('conflict', `Another sync of ${kind} is under way.`, {
    details: started.run ? { runId: started.run.id } : {},
  });
}
