/** How the user's apps are doing, and what was changed in them. */
import { Type } from 'typebox';
import { listOwnAudit } from '../../access/audit-log.ts';
import { exampleId, exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { Overview, PortalAuditEntry } from '../../contract/portal.ts';
import { strictObject, uuid } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { readOverview } from '../../webhooks/management/overview.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { operation } from './surface.ts';

const app = { appId: exampleId, appName: 'Announcer' };
const example: Overview = {
  maintenance: null,
  webhooks: [
    {
      ...app,
      webhookId: exampleId,
      host: 'example.org',
      url: 'https://example.org/hooks',
      format: 'json',
      description: 'Announces new organisations',
      health: 'deactivated',
      state: 'deactivated',
      reason: 'failing',
      suspendedReason: null,
      since: exampleTime,
      failingSince: exampleTime,
      lastSuccessAt: exampleTime,
      lastError: { at: exampleTime, statusCode: 500, error: null, errorCause: null },
      unsent: 214,
      unsentSince: exampleTime,
      exhaustedInARow: 5,
    },
  ],
  keys: [
    { ...app, keyId: exampleId, name: 'On the server', last4: '0000', expiresAt: exampleLaterTime },
  ],
};

export const getOverview = operation({
  operationId: 'getOverview',
  method: 'GET',
  path: '/overview',
  summary: 'Get the overview',
  description: 'Returns the webhooks and keys that need attention.',
  returns: { 200: 'The overview.' },
  response: oneOf(Overview, 'OverviewResponse', example),
  async run({ database, health, email }) {
    const { maintenance } = health.snapshot();
    return envelope({ maintenance, ...(await readOverview(database, email)) });
  },
});

const AuditQuery = strictObject({
  ...PageQuery.properties,
  app: Type.Optional(uuid({ description: 'Return only changes to this app.' })),
});
const exampleEntry: PortalAuditEntry = {
  id: 17,
  at: exampleTime,
  actor: { kind: 'user', name: 'ada@example.org', isYou: true },
  action: 'key.created',
  appId: exampleId,
  appName: 'Announcer',
  appDeleted: false,
  subject: { kind: 'key', id: exampleId, name: 'On the server' },
  details: { name: 'On the server', last4: '0000' },
};

export const listAudit = operation({
  operationId: 'listAudit',
  method: 'GET',
  path: '/audit',
  summary: 'List the changes to your apps',
  description:
    'Returns who changed what, newest first. Entries of an app that you owned when it was deleted stay visible until your address changes. For an app of which you are no member, the list is empty.',
  query: AuditQuery,
  returns: { 200: 'The changes.' },
  response: listOf(PortalAuditEntry, 'PortalAuditList', exampleEntry),
  async run({ database, email, query: { app: appId, page, limit } }) {
    const { entries, total } = await listOwnAudit(database, email, { appId, page, limit });
    return pageEnvelope(entries, { page, limit }, total);
  },
});
