/** Routes that manage the webhooks of one's own apps: what `v1/webhooks.ts` does for a key. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { meta, pagination } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { CreatedWebhook, Webhook } from '../../contract/webhook.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { updateWebhook } from '../../webhooks/management/update-webhook.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
} from '../../webhooks/management/webhooks.ts';
import { listOf, oneOf } from '../responses.ts';
import { DeletedWebhook, NewWebhook, WebhookChanges } from '../v1/webhooks.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  appParams,
  config,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  webhookParams,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Webhooks'], security };
const answer = oneOf(Webhook, 'WebhookResponse', examples.webhook);

export function registerWebhooks(
  portal: FastifyInstance,
  { database, webhooks, secretBox }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/apps/:appId/webhooks',
    {
      config,
      schema: {
        ...common,
        operationId: 'listWebhooks',
        summary: 'List the webhooks of an app',
        description: 'Oldest first.',
        params: appParams,
        querystring: PageQuery,
        response: portalResponses(
          200,
          'Its webhooks.',
          listOf(Webhook, 'WebhookList', examples.webhook),
          portalErrors.readOne,
        ),
      },
    },
    async (request, reply) => {
      const { id } = await requireOwnApp(database, ownerOf(request), request.params.appId);
      const found = await listWebhooks(database, id, request.query);
      const shown = pagination(request.query, found.total);
      return reply.send({ success: true, data: found.webhooks, meta, pagination: shown });
    },
  );

  routes.post(
    '/apps/:appId/webhooks',
    {
      config,
      schema: {
        ...common,
        operationId: 'createWebhook',
        summary: 'Register a webhook',
        description: 'Answers with the secret, this once. An app has at most 20 webhooks.',
        params: appParams,
        body: NewWebhook,
        querystring: noQuery,
        response: portalResponses(
          201,
          'The new webhook, with its secret.',
          oneOf(CreatedWebhook, 'CreatedWebhookResponse', examples.createdWebhook),
          [...portalErrors.withBodyOne, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId } = request.params;
      const data = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        return createWebhook(tx, actorOf(request), appId, request.body, webhooks, secretBox);
      });
      return reply.code(201).send({ success: true, data, meta });
    },
  );

  routes.get(
    '/apps/:appId/webhooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'getWebhook',
        summary: 'Get one webhook',
        description: 'Without its secret.',
        params: webhookParams,
        querystring: noQuery,
        response: portalResponses(200, 'The webhook.', answer, portalErrors.readOne),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      await requireOwnApp(database, ownerOf(request), appId);
      return reply.send({ success: true, data: await readWebhook(database, appId, id), meta });
    },
  );

  routes.patch(
    '/apps/:appId/webhooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'updateWebhook',
        summary: 'Change a webhook',
        description: 'Also activates and deactivates it.',
        params: webhookParams,
        body: WebhookChanges,
        querystring: noQuery,
        response: portalResponses(
          200,
          'The webhook as it is now.',
          answer,
          portalErrors.withBodyOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      const data = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        return updateWebhook(tx, actorOf(request), appId, id, request.body, webhooks);
      });
      return reply.send({ success: true, data, meta });
    },
  );

  routes.delete(
    '/apps/:appId/webhooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook',
        description: 'Ends its pending deliveries.',
        params: webhookParams,
        querystring: noQuery,
        response: portalResponses(
          200,
          'It is deleted.',
          oneOf(DeletedWebhook, 'DeletedWebhookResponse', {
            id: examples.webhook.id,
            deleted: true,
          }),
          portalErrors.withBodyOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        await deleteWebhook(tx, actorOf(request), appId, id);
      });
      return reply.send({ success: true, data: { id, deleted: true }, meta });
    },
  );
}
