/** The operations of the console. */
import { Type } from 'typebox';
import { searchApps } from '../../access/apps.ts';
import { searchKeys } from '../../access/keys.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import {
  ChangedSuspension,
  OperatorAccount,
  OperatorApp,
  OperatorCheck,
  OperatorKey,
  OperatorOverview,
  OperatorSetting,
  OperatorWebhook,
  webhookHealth,
  OperatorQuota,
  QuotaChanges,
} from '../../contract/operator.ts';
import {
  consoleSearchCharsMax,
  searchedKeysMax,
  reasonCharsMax,
  suspendableKinds,
} from '../../contract/console.ts';
import { noNul, strictObject, uuid } from '../../contract/shapes.ts';
import { withTextTimes } from '../../contract/parse-time.ts';
import { ServiceError } from '../../errors.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { listAccounts, type Account } from '../../sign-in/list-accounts.ts';
import { listWebhookStates, type WebhookState } from '../../webhooks/management/webhook-states.ts';
import { summarise } from '../../runtime/request-counts.ts';
import { maintenanceOperations } from '../internal/maintenance.ts';
import { allianceReads, blueprintReads, orgReads } from '../internal/reads.ts';
import { syncOperations } from '../internal/syncs.ts';
import { allianceWrites, blueprintWrites, orgWrites } from '../internal/writes.ts';
import { exampleKey } from '../portal/keys.ts';
import { onOnePage } from '../portal/surface.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { listUsage } from '../usage-operations.ts';
import { announcementOperations } from './announcements.ts';
import { auditOperations } from './audit.ts';
import { operatorDeliveries } from './deliveries.ts';
import { operation, proven, type OperatorContext } from './surface.ts';
import { changeSuspension, type SuspensionRequest } from './suspensions.ts';
import { changeQuotas, readQuotas } from '../../access/quotas.ts';

const shared = {
  path: '/apps/:id/quotas',
  returns: { 200: 'The quotas in force.' },
  response: listOf(OperatorQuota, 'OperatorQuotaList', {
    quota: 'webhooks',
    limit: 50,
    isDefault: false,
    used: 12,
  }),
} as const;

const quotaOperations = [
  operation({
    ...shared,
    operationId: 'listQuotas',
    method: 'GET',
    summary: 'List the quotas of an app',
    description: 'Returns what the app may have and use, and what it has.',
    run: async ({ database, params: { id } }) => onOnePage(await readQuotas(database, id)),
  }),
  operation({
    ...shared,
    operationId: 'changeQuotas',
    method: 'PATCH',
    summary: 'Change quotas of an app',
    description:
      'Takes effect in every process within a second. What the app has beyond a quota stays, and it gets no more.',
    body: QuotaChanges,
    run: ({ change, actor, params: { id }, body }) =>
      change(async (tx) => {
        await changeQuotas(tx, actor, id, body);
        return onOnePage(await readQuotas(tx, id));
      }),
  }),
];

const SearchQuery = strictObject({
  ...PageQuery.properties,
  search: Type.String({
    ...noNul,
    maxLength: consoleSearchCharsMax,
    default: '',
    description: 'Return only those whose name, address or id contains this.',
  }),
});
const WebhookQuery = strictObject({
  ...PageQuery.properties,
  health: Type.Optional(webhookHealth),
  app: Type.Optional(uuid({ description: 'Return only webhooks of this app.' })),
  id: Type.Optional(uuid({ description: 'Return only the webhook with this id.' })),
});

const Suspension = strictObject(
  {
    reason: Type.String({
      minLength: 1,
      maxLength: reasonCharsMax,
      description: 'Why, as its owners read it.',
      examples: ['Sends unwanted messages.'],
    }),
  },
  {
    title: 'NewSuspension',
    description: 'A suspension.',
    examples: [{ reason: 'Sends unwanted messages.' }],
  },
);
const RestoreQuery = strictObject({
  replay: Type.Boolean({
    default: false,
    description: 'Whether the worker replays what the webhooks have missed.',
  }),
});
const changedExample = { id: exampleId, changed: true, cancelled: 12, mailed: 1 };

async function setSuspension(
  { change, actor, ...context }: OperatorContext,
  request: SuspensionRequest,
) {
  const { id, changed, cancelled, mailed } = await change((tx) =>
    changeSuspension(tx, actor, request, context),
  );
  return envelope({ id, changed, cancelled: cancelled ?? null, mailed: mailed.length });
}

const kindOf = (kind: string) => suspendableKinds[kind as keyof typeof suspendableKinds];

function toAccount(account: Account): OperatorAccount {
  const { image: _, operatorRole: __, ...shown } = account;
  return withTextTimes(shown);
}

function toWebhook(webhook: WebhookState): OperatorWebhook {
  const { state: _, latestEvent: __, ...shown } = webhook;
  return withTextTimes(shown);
}

const ownOperations = [
  operation({
    operationId: 'getInstallation',
    method: 'GET',
    path: '/overview',
    summary: 'Get the state of the installation',
    description: 'Returns requests, deliveries, what waits, and webhooks that do not work.',
    returns: { 200: 'The state.' },
    response: oneOf(OperatorOverview, 'OperatorOverviewResponse', {
      today: { requests: 1_200, errors: 3 },
      yesterday: { requests: 9_000, errors: 12 },
      responses: { count: 12_000, p50Ms: 1, p99Ms: 25 },
      deliveries: { successShare: 0.998, delayP50Ms: 12, delayP95Ms: 80 },
      queue: {
        due: 0,
        oldestDueSeconds: 0,
        eventsWaiting: 0,
        oldestEventSeconds: 0,
        setAside: 0,
      },
      webhooks: { healthy: 310, failing: 2 },
      receivers: [{ host: 'hooks.example.org', webhooks: 2, apps: 1 }],
    }),
    run: async ({ readInstallation, readQueue, metrics }) => {
      const { count, withinMs } = summarise(metrics.requests);
      const { due, oldestDueSeconds, eventsWaiting, oldestEventSeconds, setAside } =
        await readQueue();
      const { rejected, ...installation } = await readInstallation();
      const rows = Object.values(setAside).reduce((sum, each) => sum + each, rejected);
      return envelope({
        ...installation,
        responses: { count, p50Ms: withinMs(0.5), p99Ms: withinMs(0.99) },
        queue: { due, oldestDueSeconds, eventsWaiting, oldestEventSeconds, setAside: rows },
      });
    },
  }),
  operation({
    operationId: 'listAllApps',
    method: 'GET',
    path: '/apps',
    summary: 'List all apps',
    description: 'Returns the apps of everybody, newest first.',
    query: SearchQuery,
    returns: { 200: 'The apps.' },
    response: listOf(OperatorApp, 'OperatorAppList', {
      id: exampleId,
      name: 'Announcer',
      owners: ['ada@example.org'],
      keyCount: 2,
      webhookCount: 1,
      suspendedAt: null,
      suspendedReason: null,
      createdAt: exampleTime,
    }),
    async run({ database, query }) {
      const { apps, total } = await searchApps(database, query);
      const shown: OperatorApp[] = apps.map((app) => withTextTimes(app));
      return pageEnvelope(shown, query, total);
    },
  }),
  operation({
    operationId: 'listAllAccounts',
    method: 'GET',
    path: '/accounts',
    summary: 'List all accounts',
    description: 'Returns the accounts of everybody, newest first.',
    query: SearchQuery,
    returns: { 200: 'The accounts.' },
    response: listOf(OperatorAccount, 'OperatorAccountList', {
      id: exampleId,
      email: 'ada@example.org',
      name: 'Ada',
      sessionCount: 1,
      hasSecondFactor: true,
      suspendedAt: null,
      suspendedReason: null,
      createdAt: exampleTime,
    }),
    async run({ database, query }) {
      const { accounts, total } = await listAccounts(database, { ...query, suspended: false });
      return pageEnvelope(accounts.map(toAccount), query, total);
    },
  }),
  operation({
    operationId: 'listAllWebhooks',
    method: 'GET',
    path: '/webhooks',
    summary: 'List all webhooks',
    description: 'Returns the webhooks of everybody, oldest first.',
    query: WebhookQuery,
    returns: { 200: 'The webhooks.' },
    response: listOf(OperatorWebhook, 'OperatorWebhookList', {
      id: exampleId,
      appId: exampleId,
      appName: 'Announcer',
      host: 'hooks.example.org',
      format: 'json',
      health: 'failing',
      suspended: null,
      reason: null,
      since: null,
      exhaustedInARow: 3,
    }),
    async run({ database, query: { app: appId = null, ...query } }) {
      const { webhooks, total } = await listWebhookStates(database, { ...query, appId });
      return pageEnvelope(webhooks.map(toWebhook), query, total);
    },
  }),
  operation({
    operationId: 'listAllKeys',
    method: 'GET',
    path: '/keys',
    summary: 'List all keys',
    description: `Returns the keys of everybody and of the platform, newest first, without temporary ones: the newest ${searchedKeysMax.toLocaleString('en')}, or all with this id or of the app with this id.`,
    query: SearchQuery,
    returns: { 200: 'The keys.' },
    response: listOf(OperatorKey, 'OperatorKeyList', {
      ...exampleKey,
      appId: exampleId,
      appName: 'Announcer',
      appSuspended: false,
    }),
    async run({ database, query }) {
      const { keys, total } = await searchKeys(database, query);
      const shown: OperatorKey[] = keys.map((key) => withTextTimes(key));
      return pageEnvelope(shown, query, total);
    },
  }),
  operation({
    operationId: 'listChecks',
    method: 'GET',
    path: '/checks',
    summary: 'Check what the service uses',
    description:
      'Returns what `orgdir doctor` finds about the database, replicas, workers, retention and the queue. A result is used for some seconds.',
    returns: { 200: 'The findings.' },
    response: listOf(OperatorCheck, 'OperatorCheckList', {
      check: 'replicas',
      status: 'ok',
      message: 'replica.example.org is a standby of the database',
      advice: null,
    }),
    run: async ({ readChecks }) => onOnePage(await readChecks()),
  }),
  { ...listUsage, operationId: 'listAllUsage' },
  operation({
    operationId: 'suspend',
    method: 'PUT',
    path: '/:kind/:id/suspension',
    summary: 'Suspend an account, an app, a webhook or a key',
    description:
      'Takes effect in every process within a second. Owners see the reason, and get a mail; a repeated suspension changes the reason.',
    body: Suspension,
    returns: { 200: 'It is suspended.' },
    response: oneOf(ChangedSuspension, 'SuspendedResponse', changedExample),
    errors: ['conflict'],
    async run({ params: { kind, id }, body, ...context }) {
      if (id === context.actor.id)
        throw new ServiceError('conflict', 'You cannot suspend your own account.');
      return setSuspension(context, { kind: kindOf(kind), id, reason: body.reason });
    },
  }),
  operation({
    operationId: 'restore',
    method: 'DELETE',
    path: '/:kind/:id/suspension',
    summary: 'Restore an account, an app, a webhook or a key',
    description: 'Ends the suspension. Owners get a mail that says how to replay what was missed.',
    query: RestoreQuery,
    returns: { 200: 'It is not suspended.' },
    response: oneOf(ChangedSuspension, 'RestoredResponse', { ...changedExample, cancelled: null }),
    run: ({ params: { kind, id }, query, ...context }) =>
      setSuspension(context, {
        kind: kindOf(kind),
        id,
        reason: null,
        withReplay: query.replay,
      }),
  }),
  operation({
    operationId: 'listSettings',
    method: 'GET',
    path: '/settings',
    summary: 'List the settings in force',
    description: 'Returns the settings of this process, without secrets.',
    returns: { 200: 'The settings.' },
    response: listOf(OperatorSetting, 'OperatorSettingList', {
      name: 'RETENTION_DAYS',
      value: '30',
      isDefault: true,
    }),
    run: ({ settingsInForce }) => onOnePage(settingsInForce),
  }),
];

/** Everything of the console: its own operations, and those of the internal API that a person needs. */
export const operatorOperations = proven([
  ...ownOperations,
  ...operatorDeliveries,
  ...quotaOperations,
  ...announcementOperations,
  ...auditOperations,
  ...maintenanceOperations,
  ...syncOperations,
  ...orgReads,
  ...orgWrites,
  ...allianceReads,
  ...allianceWrites,
  ...blueprintReads,
  ...blueprintWrites,
]);
