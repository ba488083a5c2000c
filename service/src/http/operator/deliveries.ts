/** The console's operations on deliveries, and on what the worker could not process. */
import { Type } from 'typebox';
import { recordAudit } from '../../access/audit-log.ts';
import { hoursAgo, listedHours } from '../../contract/periods.ts';
import { cursorList, envelope } from '../../contract/envelope.ts';
import { exampleId, examples, exampleTime } from '../../contract/examples.ts';
import {
  ChangedRows,
  OperatorDelivery,
  Reason,
  RefusedChange,
  RefusedRow,
  RevealedUrl,
} from '../../contract/operator.ts';
import { requireReason } from '../../access/suspensions.ts';
import { strictObject, uuid, enumOf } from '../../contract/shapes.ts';
import { withTextTimes } from '../../contract/parse-time.ts';
import { ServiceError } from '../../errors.ts';
import { sql } from '../../database/database.ts';
import { listAllDeliveries } from '../../webhooks/management/list-all-deliveries.ts';
import { urlHost } from '../../webhooks/sending/url-host.ts';
import { oneOf } from '../responses/responses.ts';
import { changeRefused, listRefused, type RefusedVerb } from './refused.ts';
import { operation } from './surface.ts';

/** A page of what is too much to count. */
export const olderPage = 50;

const DeliveryQuery = strictObject({
  status: Type.Optional(
    enumOf(
      ['pending', 'succeeded', 'failed', 'cancelled', 'undelivered'],
      '`undelivered`: failed or cancelled, without tests and probes.',
    ),
  ),
  webhook: Type.Optional(uuid({ description: 'Return only deliveries to this webhook.' })),
  before: Type.Optional(uuid({ description: 'The id of the last delivery of the page before.' })),
});

const { body: _, attempts: __, ...delivery } = examples.delivery;
const example = {
  ...delivery,
  appId: exampleId,
  appName: 'Announcer',
  host: 'hooks.example.org',
  lastAttempt: {
    startedAt: exampleTime,
    durationMs: 120,
    statusCode: 200,
    error: null,
    errorCause: null,
  },
};

/** A page of a list without a total: `nextCursor` is the id of its last entry. */
export function olderPageOf<Entry extends { id: string | number }>(entries: Entry[]) {
  const shown = entries.slice(0, olderPage);
  const nextCursor = shown.at(-1)?.id.toString() ?? null;
  return {
    ...envelope(shown),
    pagination: { limit: olderPage, nextCursor, hasMore: entries.length > olderPage },
  };
}

const changeOperation = (verb: RefusedVerb, summary: string, description: string) =>
  operation({
    operationId: `${verb}Refused`,
    method: 'POST',
    path: `/refused/${verb}`,
    summary,
    description,
    body: RefusedChange,
    returns: { 200: 'It is done.' },
    response: oneOf(ChangedRows, 'ChangedRowsResponse', { count: 2 }),
    errors: ['conflict'],
    run: async ({ database, change, actor, body: { ids } }) =>
      envelope({ count: await changeRefused(database, actor, verb, ids, change) }),
  });

export const operatorDeliveries = [
  operation({
    operationId: 'listEveryDelivery',
    method: 'GET',
    path: '/deliveries',
    summary: 'List deliveries to all webhooks',
    description: `Returns them newest first, without what was sent and received; with a status and without a webhook, those of the last ${listedHours} hours.`,
    query: DeliveryQuery,
    returns: { 200: 'The deliveries.' },
    response: {
      schema: cursorList(OperatorDelivery, 'OperatorDeliveryList'),
      example: olderPageOf([example]),
    },
    async run({ database, query: { webhook = null, ...filter } }) {
      const { status } = filter;
      // Without an index for all webhooks, few in a long history would take long to find.
      const isSearched = webhook === null && status !== undefined && status !== 'pending';
      const since = isSearched ? hoursAgo(listedHours).toISOString() : undefined;
      const limit = olderPage + 1;
      return olderPageOf(await listAllDeliveries(database, webhook, { ...filter, since, limit }));
    },
  }),
  operation({
    operationId: 'revealWebhookUrl',
    method: 'POST',
    path: '/webhooks/:id/url',
    summary: 'See the URL of a webhook',
    description:
      'Returns the whole URL, which may contain a token of its owner. The audit log keeps who saw it and why, and shows that to the members of its app.',
    body: Reason,
    errors: ['conflict'],
    returns: { 200: 'The URL.' },
    response: oneOf(RevealedUrl, 'RevealedUrlResponse', { url: 'https://hooks.example.org/in' }),
    run: ({ change, actor, params: { id }, body }) =>
      change(async (tx) => {
        const reason = requireReason(body.reason);
        const { rows } = await sql<{ id: string; appId: string; url: string; format: string }>`
          select id, app_id as "appId", url, format from webhooks where id = ${id}
        `.execute(tx);
        const [webhook] = rows;
        if (!webhook) throw new ServiceError('not_found');
        if (webhook.format !== 'json')
          throw new ServiceError(
            'conflict',
            'The URL of a chat channel is a credential: it is shown to nobody.',
          );
        await recordAudit(tx, actor, {
          action: 'webhook.url_revealed',
          subject: { kind: 'webhook', id: webhook.id },
          appId: webhook.appId,
          details: { host: urlHost(webhook.url), reason },
        });
        return envelope({ url: webhook.url });
      }),
  }),
  operation({
    operationId: 'listRefused',
    method: 'GET',
    path: '/refused',
    summary: 'List events and rows that were refused',
    description:
      'Returns the newest events that were rejected and rows that the worker has set aside, without their data.',
    returns: { 200: 'The rows.' },
    response: {
      schema: cursorList(RefusedRow, 'RefusedRowList'),
      example: olderPageOf([
        {
          id: exampleId,
          stage: 'record',
          event: 'org.created',
          org: null,
          alliance: null,
          createdAt: exampleTime,
          rejectedAt: exampleTime,
          code: '22P02',
          reason: 'invalid input syntax for type uuid',
          eventId: exampleId,
          deliveryId: exampleId,
          webhookId: exampleId,
        },
      ]),
    },
    async run({ database }) {
      const filter = { event: null, since: new Date(0), limit: olderPage + 1 };
      const rows = await listRefused(database, filter);
      return olderPageOf(rows.map((row) => withTextTimes(row)));
    },
  }),
  changeOperation(
    'retry',
    'Retry what was refused',
    'Processes events and rows again. What is refused again is listed again; an attempt that could not be recorded may be made twice.',
  ),
  changeOperation(
    'drop',
    'Drop what was refused',
    'Deletes events and rows for good. Dropped events are never sent.',
  ),
];
