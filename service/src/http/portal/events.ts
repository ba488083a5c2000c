/**
 * GET /events returns the catalogue, GET /apps/{appId}/events the events that an app may subscribe to, and
 * GET /apps/{appId}/past-events what happened.
 */
import { Type } from 'typebox';
import { requireRole } from '../../access/require-role.ts';
import { cursorList, envelope } from '../../contract/envelope.ts';
import { exampleId, examples, exampleTime } from '../../contract/examples.ts';
import { AppEvent } from '../../contract/portal-deliveries.ts';
import { noNul, strictObject } from '../../contract/shapes.ts';
import { CatalogueEvent, PortalEvent } from '../../contract/portal.ts';
import { catalogue, subscribableEvents, type EventName } from '../../events/catalogue.ts';
import { templateVersion } from '../../events/message.ts';
import { messageFor } from '../../webhooks/sending/render-message.ts';
import { listAppEvents } from '../../webhooks/management/app-events.ts';
import { checkEvents } from '../../webhooks/management/webhooks.ts';
import { listOf } from '../responses/responses.ts';
import { onOnePage, operation } from './surface.ts';

const example = {
  event: 'org.created',
  audience: 'global',
  description: catalogue['org.created'].description,
  optIn: false,
  schema: { type: 'object' },
  sample: examples.organisation,
  message: sampleMessage('org.created'),
};
const eventsPerPage = 25;
const examplePage = {
  ...envelope([
    {
      id: exampleId,
      event: 'event.created',
      createdAt: exampleTime,
      subject: { kind: 'organization', slug: 'acme-corporation', name: 'Acme Corporation' },
      webhooks: [
        {
          webhookId: exampleId,
          result: examples.explanation.result,
          message: examples.explanation.message,
          delivery: null,
        },
      ],
    },
  ]),
  pagination: {
    limit: eventsPerPage,
    nextCursor: 'q0F1m8k2yC7b5RrXwJ4TzD9sLhVnE6Gp',
    hasMore: true,
  },
};
const names = Object.keys(catalogue) as EventName[];

export const eventOperations = [
  operation({
    operationId: 'listEvents',
    method: 'GET',
    path: '/events',
    summary: 'List the events',
    description:
      'Returns every event with its schema and example data, including `webhook.test` and `webhook.probe`.',
    returns: { 200: 'The events.' },
    response: listOf(CatalogueEvent, 'CatalogueEventList', example),
    run: () => onOnePage(names.map(entryOf)),
  }),
  operation({
    operationId: 'listPastEvents',
    method: 'GET',
    path: '/apps/:appId/past-events',
    summary: 'List the events that an app could receive',
    description:
      'Returns them newest first, except for opt-in events, with what became of each at every webhook of the app.',
    query: strictObject({
      before: Type.Optional(
        Type.String({ ...noNul, description: 'The `nextCursor` of the page before.' }),
      ),
    }),
    returns: { 200: 'The events.' },
    response: { schema: cursorList(AppEvent, 'AppEventList'), example: examplePage },
    async run({ database, cursors, email, params: { appId }, query: { before = null } }) {
      await requireRole(database, email, appId, 'viewer');
      const page = { before, limit: eventsPerPage };
      const { events, ...rest } = await listAppEvents(database, cursors, appId, page);
      return { ...envelope(events), pagination: { limit: eventsPerPage, ...rest } };
    },
  }),
  operation({
    operationId: 'listAppEvents',
    method: 'GET',
    path: '/apps/:appId/events',
    summary: 'List the events of an app',
    description:
      'Returns every event with its schema and example data, and the reason if the app cannot receive it.',
    returns: { 200: 'The events.' },
    response: listOf(PortalEvent, 'PortalEventList', { ...example, allowed: true, reason: null }),
    async run({ database, email, params: { appId } }) {
      await requireRole(database, email, appId, 'viewer');
      // Checking all events together returns a reason for each one that the app may not have.
      const issues = await checkEvents(database, appId, [...subscribableEvents]);
      const reasons = new Map(issues.map(({ path, message }) => [path, message]));
      const data = subscribableEvents.map((event, index) => {
        const reason = reasons.get(`body.events.${index}`) ?? null;
        return Object.assign(entryOf(event), { allowed: reason === null, reason });
      });
      return onOnePage(data);
    },
  }),
];

function sampleMessage(event: EventName) {
  const data = JSON.stringify(catalogue[event].sample);
  return messageFor({ event, createdAt: exampleTime, data }, templateVersion);
}

function entryOf(event: EventName) {
  const { audience, description, optIn = false, data: schema, sample } = catalogue[event];
  return { event, audience, description, optIn, schema, sample, message: sampleMessage(event) };
}
