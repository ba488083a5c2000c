/**
 * Serves the webhooks of the user's apps under `/apps/{appId}/webhooks`. Viewers may read, developers and owners may
 * change them too.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { holdRole, requireRole } from '../../access/require-role.ts';
import { envelope } from '../../contract/envelope.ts';
import { hoursAgo, recoverDaysMax } from '../../contract/periods.ts';
import { strictObject, time, count } from '../../contract/shapes.ts';
import { invalid } from '../../errors.ts';
import { countPassing } from '../../events/pull-events.ts';
import { holdSession } from '../../sign-in/sessions.ts';
import {
  checkEvents,
  distinct,
  readFilters,
  requireWebhook,
} from '../../webhooks/management/webhooks.ts';
import { countRecoverable } from '../../webhooks/replay/replay.ts';
import { confirmedChange } from '../confirmed-change.ts';
import { mountOperations } from '../operations.ts';
import { oneOf } from '../responses/responses.ts';
import { requireRecent, WebhookInput } from '../webhooks/bodies.ts';
import { deliveryOperations } from '../webhooks/delivery-operations.ts';
import { operation } from '../webhooks/operation.ts';
import { webhookOperations } from '../webhooks/webhook-operations.ts';
import { readMethods } from './authenticate.ts';
import { requireRecentProof, type PortalSurfaces } from './surface.ts';

export function registerWebhooks(
  portal: FastifyInstance,
  { signedIn }: Pick<PortalSurfaces, 'signedIn'>,
): void {
  const surface = {
    ...signedIn,
    root: '/apps/:appId/webhooks',
    describe: ({ operationId, description }: { operationId: string; description: string }) =>
      descriptions[operationId] ?? description,
    async contextOf(request: FastifyRequest) {
      const context = signedIn.contextOf(request);
      const { database, email, account } = context;
      const { appId } = request.params as { appId: string };
      const needed = readMethods.has(request.method) ? 'viewer' : 'developer';
      const role = await requireRole(database, email, appId, needed);
      return {
        ...context,
        appId,
        readsSecrets: role !== 'viewer',
        // Not that of the surface, which counts changes by the account.
        change: confirmedChange(database, async (tx) => {
          await holdRole(tx, email, appId, needed);
          await holdSession(tx, account.sessionId);
        }),
        requireProof: () => requireRecentProof(request),
      };
    },
  };
  mountOperations(portal, surface, 'Webhooks', [
    ...webhookOperations,
    ...deliveryOperations,
    countRecoverableDeliveries,
    previewFilters,
  ]);
}

const Recoverable = strictObject(
  { count: count('The number of deliveries that a recovery would queue, at most 10,000.') },
  { title: 'Recoverable', description: 'The deliveries that a recovery would send.' },
);

/** Lets the portal show what a recovery would send before it does. */
const countRecoverableDeliveries = operation({
  operationId: 'countRecoverableDeliveries',
  method: 'GET',
  path: '/:id/recoverable',
  summary: 'Count recoverable deliveries',
  description:
    'Counts the deliveries that have failed, or were cancelled by a deactivation, since a time.',
  query: strictObject({
    since: Type.Optional(
      time({
        description: `Count deliveries that ended at this time or later, at most ${recoverDaysMax} days ago, which is the default.`,
      }),
    ),
  }),
  returns: { 200: 'The count.' },
  errors: ['conflict'],
  response: oneOf(Recoverable, 'RecoverableResponse', { count: 12 }),
  async run({ database, appId, actor, params, query }) {
    const since =
      query.since === undefined
        ? hoursAgo(24 * recoverDaysMax)
        : requireRecent(query.since, 'query.since');
    const { id: webhookId } = await requireWebhook(database, appId, params.id);
    return envelope({
      count: await countRecoverable(database, actor, { appId, webhookId }, since),
    });
  },
});

/** The newest events that a preview looks at. */
export const previewedMax = 100;

const fields = WebhookInput.properties;

/** Lets the portal show what filters would let pass before they are saved. */
const previewFilters = operation({
  operationId: 'previewFilters',
  method: 'POST',
  path: '/preview-filters',
  summary: 'Preview filters',
  description: `Counts how many of the last ${previewedMax} events to which a webhook would be subscribed pass these filters. Only owners and developers may ask, because the answers tell something about the data.`,
  body: strictObject(
    { events: fields.events, filters: fields.filters },
    {
      title: 'FilterPreviewRequest',
      description: 'The events and filters of a webhook.',
      examples: [{ events: ['org.created'], filters: { 'org.created': { recruiting: true } } }],
    },
  ),
  bodyOptional: true,
  returns: { 200: 'The counts.' },
  response: oneOf(
    strictObject(
      {
        events: count(`The events, at most ${previewedMax}.`),
        passing: count('How many of them pass.'),
      },
      { title: 'FilterPreview', description: 'What filters would have let pass.' },
    ),
    'FilterPreviewResponse',
    { events: 100, passing: 12 },
  ),
  errors: ['conflict'],
  async run({ database, appId, body: { events = null, filters } }) {
    const eventIssues = events ? await checkEvents(database, appId, events) : [];
    const { filterPath, filterIssues } = await readFilters(database, appId, filters);
    const issues = [...eventIssues, ...filterIssues];
    if (issues.length > 0) throw invalid(...issues);
    const asked = { events: distinct(events), filterPath, limit: previewedMax };
    return envelope(await countPassing(database, appId, asked));
  },
});

const onlyOrigin = 'A viewer sees only the origin of a URL, because the rest may hold a token.';
/** They differ from those of the public API. */
const descriptions: Record<string, string> = {
  listWebhooks: `Returns the webhooks of the app, oldest first. ${onlyOrigin}`,
  getWebhook: `Returns a webhook without its secret. ${onlyOrigin}`,
  getDelivery:
    'Returns a delivery with its body and attempts. For a viewer, the headers and bodies of all responses are null, and so is the body of an internal event.',
};
