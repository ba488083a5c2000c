/** GET /audit lists the changes in the user's apps. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { listOwnAudit } from '../../access/own-audit.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { pageEnvelope } from '../../contract/envelope.ts';
import { PortalAuditEntry } from '../../contract/portal.ts';
import { uuid } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { listOf } from '../responses.ts';
import { ownerOf } from './authenticate.ts';
import {
  config,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const AuditQuery = Type.Object(
  {
    ...PageQuery.properties,
    app: Type.Optional(uuid({ description: 'Only what was done to this app.' })),
  },
  { additionalProperties: false },
);
const example: PortalAuditEntry = {
  id: 17,
  at: exampleTime,
  actor: { kind: 'user', name: 'ada@example.org' },
  action: 'key.created',
  appId: exampleId,
  appName: 'Announcer',
  appDeleted: false,
  subject: { kind: 'key', id: exampleId, name: 'On the server' },
  details: { name: 'On the server', last4: '0000' },
};

export function registerAudit(
  portal: FastifyInstance,
  { database }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/audit',
    {
      config,
      schema: {
        tags: ['Overview'],
        security,
        operationId: 'listAudit',
        summary: 'See who changed what in your apps',
        description:
          'Newest first. You keep seeing the entries of an app that you owned when it was deleted. For an app that was never yours the list is empty.',
        querystring: AuditQuery,
        response: portalResponses(
          200,
          'What was done.',
          listOf(PortalAuditEntry, 'PortalAuditList', example),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const { app: appId, page, limit } = request.query;
      const found = await listOwnAudit(database, ownerOf(request), { appId, page, limit });
      return reply.send(pageEnvelope(found.entries, { page, limit }, found.total));
    },
  );
}
