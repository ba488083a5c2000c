/** GET /audit lists the changes in the user's apps. */
import { Type } from 'typebox';
import { listOwnAudit } from '../../access/own-audit.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { pageEnvelope } from '../../contract/envelope.ts';
import { PortalAuditEntry } from '../../contract/portal.ts';
import { strictObject, uuid } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { listOf } from '../responses/responses.ts';
import { operation } from './surface.ts';

const AuditQuery = strictObject({
  ...PageQuery.properties,
  app: Type.Optional(uuid({ description: 'Return only changes to this app.' })),
});
const example: PortalAuditEntry = {
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
  response: listOf(PortalAuditEntry, 'PortalAuditList', example),
  async run({ database, email, query: { app: appId, page, limit } }) {
    const { entries, total } = await listOwnAudit(database, email, { appId, page, limit });
    return pageEnvelope(entries, { page, limit }, total);
  },
});
