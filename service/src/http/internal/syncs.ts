/**
 * Operations that start syncs and read their runs. A run goes on in the process that got the request; any process can
 * report its result.
 */
import { Type } from 'typebox';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { strictObject } from '../../contract/shapes.ts';
import { SyncRun, type SyncKind } from '../../contract/sync-run.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { ServiceError } from '../../errors.ts';
import { listRuns, readRun } from '../../sync/runs.ts';
import type { StartedSync, SyncOptions, Syncs } from '../../sync/syncs.ts';
import { listOf, oneOf } from '../responses.ts';
import { found } from './reads.ts';
import { operation } from './route.ts';

const RunQuery = Type.Object(
  {
    ...PageQuery.properties,
    kind: Type.Optional(
      Type.Enum(['blueprints', 'chat'], { type: 'string', description: 'Only runs of this sync.' }),
    ),
  },
  { additionalProperties: false },
);

const BlueprintSyncRequest = strictObject(
  {
    force: Type.Boolean({
      default: false,
      description: 'Goes on where more than half of the active blueprints would be retired.',
    }),
    skipBad: Type.Boolean({
      default: false,
      description: 'Goes on without bad rows; what they tell of stays as it is.',
    }),
  },
  {
    title: 'BlueprintSyncRequest',
    description: 'How to run. Where from is a matter of the configuration alone.',
    examples: [{ skipBad: true }],
  },
);
const ChatSyncRequest = strictObject(
  {},
  { title: 'ChatSyncRequest', description: 'There is nothing to choose.', examples: [{}] },
);

const response = oneOf(SyncRun, 'SyncRunResponse', examples.syncRun);
const variablesOf: Record<SyncKind, string> = {
  blueprints: 'SYNC_BLUEPRINTS_URL',
  chat: 'CHAT_PROVIDER',
};

const begins = {
  method: 'POST',
  bodyOptional: true,
  returns: { 202: 'The run, which goes on.' },
  response,
  errors: ['conflict'],
} as const;

export const syncOperations = [
  operation({
    operationId: 'listSyncs',
    method: 'GET',
    path: '/syncs',
    summary: 'List runs of the syncs',
    description:
      'The newest first. Some hundreds of each kind are kept, and the last that succeeded.',
    query: RunQuery,
    returns: { 200: 'What was asked for.' },
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
    summary: 'Get one run of a sync',
    description: 'Whether it is under way, what it did, or why it failed.',
    returns: { 200: 'What was asked for.' },
    response,
    run: async ({ database, params }) => found(await readRun(database, params.id)),
  }),
  operation({
    ...begins,
    operationId: 'syncBlueprints',
    path: '/syncs/blueprints',
    summary: 'Bring the blueprints up to date',
    description:
      'Begins a run from the configured source (`SYNC_BLUEPRINTS_URL`) and answers at once; `GET /syncs/{id}` tells how it ended. `conflict` while one is under way, in whichever process, or where no source is configured.',
    body: BlueprintSyncRequest,
    run: ({ syncs, body }) => begin(syncs, 'blueprints', body),
  }),
  operation({
    ...begins,
    operationId: 'syncChat',
    path: '/syncs/chat',
    summary: 'Refresh member counts',
    description:
      'Begins a run that asks the configured provider (`CHAT_PROVIDER`) and answers at once; `GET /syncs/{id}` tells how it ended. `conflict` while one is under way, in whichever process, or where no provider is configured.',
    body: ChatSyncRequest,
    run: ({ syncs }) => begin(syncs, 'chat', { force: false, skipBad: false }),
  }),
];

async function begin(syncs: Pick<Syncs, 'begin'>, kind: SyncKind, options: SyncOptions) {
  return envelope(requireStarted(kind, await syncs.begin(kind, options)));
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
