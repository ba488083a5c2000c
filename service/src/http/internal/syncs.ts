/**
 * Operations that start syncs and read their runs. A run continues in the process that got the request; every process
 * can read its result.
 */
import { Type } from 'typebox';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { strictObject, enumOf } from '../../contract/shapes.ts';
import { SyncRun, type SyncKind } from '../../contract/sync-run.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { ServiceError } from '../../errors.ts';
import { listRuns, readRun } from '../../sync/runs.ts';
import type { StartedSync, SyncOptions } from '../../sync/syncs.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { found } from './reads.ts';
import { operation, type InternalContext } from './surface.ts';

const RunQuery = strictObject({
  ...PageQuery.properties,
  kind: Type.Optional(enumOf(['blueprints', 'chat'], 'Return only runs of this sync.')),
});

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

const response = oneOf(SyncRun, 'SyncRunResponse', examples.syncRun);
const variablesOf: Record<SyncKind, string> = {
  blueprints: 'SYNC_BLUEPRINTS_URL',
  chat: 'CHAT_TOKEN',
};

const begins = {
  method: 'POST',
  bodyOptional: true,
  returns: { 202: 'The run was started.' },
  response,
  errors: ['conflict'],
} as const;

export const syncOperations = [
  operation({
    operationId: 'listSyncs',
    method: 'GET',
    path: '/syncs',
    summary: 'List sync runs',
    description:
      'Returns sync runs, newest first. The last few hundred of each kind are stored, and the last that succeeded.',
    query: RunQuery,
    returns: { 200: 'The result.' },
    response: listOf(SyncRun, 'SyncRunList', examples.syncRun),
    async run({ database, query: { page, limit, kind = null } }) {
      const { total, runs } = await listRuns(database, { kind, page, limit });
      return pageEnvelope(runs, { page, limit }, total);
    },
  }),
  operation({
    operationId: 'getSync',
    method: 'GET',
    path: '/syncs/:id',
    summary: 'Get a sync run',
    description: 'Returns the progress and the result of a run.',
    returns: { 200: 'The result.' },
    response,
    run: async ({ database, params }) => found(await readRun(database, params.id)),
  }),
  operation({
    ...begins,
    operationId: 'syncBlueprints',
    path: '/syncs/blueprints',
    summary: 'Sync the blueprints',
    description:
      'Starts a run from the configured source (`SYNC_BLUEPRINTS_URL`) and returns at once. Get the result with `GET /syncs/{id}`. Returns `conflict` while another sync of this kind is running, or if no source is configured.',
    body: BlueprintSyncRequest,
    run: ({ body, ...context }) => begin(context, 'blueprints', body),
  }),
  operation({
    ...begins,
    operationId: 'syncChat',
    path: '/syncs/chat',
    summary: 'Sync the member counts',
    description:
      'Starts a run from Discord with the configured token (`CHAT_TOKEN`) and returns at once. Get the result with `GET /syncs/{id}`. Returns `conflict` while another sync of this kind is running, or if no token is configured.',
    body: ChatSyncRequest,
    run: (context) => begin(context, 'chat', { force: false, skipBad: false }),
  }),
];

async function begin(
  { syncs, actor }: Pick<InternalContext, 'syncs' | 'actor'>,
  kind: SyncKind,
  options: SyncOptions,
) {
  return envelope(requireStarted(kind, await syncs.begin(kind, options, actor)));
}

function requireStarted(kind: SyncKind, started: StartedSync): SyncRun {
  if (started.kind === 'started') return started.run;
  if (started.kind === 'unconfigured')
    throw new ServiceError(
      'conflict',
      `There is no source to sync ${kind} from. Set ${variablesOf[kind]}.`,
    );
  throw new ServiceError('conflict', `Another sync of ${kind} is running.`, {
    details: started.run ? { runId: started.run.id } : {},
  });
}
