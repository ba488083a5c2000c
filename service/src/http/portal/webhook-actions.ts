/** Routes that do something with a webhook of one's own app: test it, give it a new secret. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { meta } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { CreatedWebhook, DeliveryDetail } from '../../contract/webhook.ts';
import { rotateSecret } from '../../webhooks/management/rotate-secret.ts';
import { testWebhook } from '../../webhooks/management/test-webhook.ts';
import { requireWebhook } from '../../webhooks/management/webhooks.ts';
import { oneOf } from '../responses.ts';
import { RotateRequest, TestRequest } from '../v1/webhook-actions.ts';
import { testsPerMinute, withEmptyBody } from '../v1/webhook-route.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  config,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  webhookParams,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Webhooks'], security };

export function registerWebhookActions(
  portal: FastifyInstance,
  dependencies: PortalRouteDependencies,
): void {
  const { database, secretBox, appLimits } = dependencies;
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.post(
    '/apps/:appId/webhooks/:id/test',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'testWebhook',
        summary: 'Send a test',
        description: `Sends \`webhook.test\` now, in one attempt, with a sample of any event that the app may have, and answers with its record. At most ${testsPerMinute} a minute and app, the API's included.`,
        params: webhookParams,
        body: TestRequest,
        querystring: noQuery,
        response: portalResponses(
          200,
          'The delivery, its attempt included.',
          oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery),
          [...portalErrors.withBodyOne, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      await requireOwnApp(database, ownerOf(request), appId);
      await requireWebhook(database, appId, id);
      appLimits.tests(appId);
      const event = request.body.event ?? null;
      const data = await testWebhook(dependencies, { appId, webhookId: id, event });
      return reply.send({ success: true, data, meta });
    },
  );

  routes.post(
    '/apps/:appId/webhooks/:id/rotate-secret',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'rotateWebhookSecret',
        summary: 'Give it a new secret',
        description:
          'Answers with the new secret, this once. While the two overlap, `webhook-signature` holds both signatures, and the single-valued header keeps the old one.',
        params: webhookParams,
        body: RotateRequest,
        querystring: noQuery,
        response: portalResponses(
          200,
          'The webhook, with its new secret.',
          oneOf(CreatedWebhook, 'CreatedWebhookResponse', examples.createdWebhook),
          portalErrors.withBodyOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      const { overlapSeconds } = request.body;
      const data = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        return rotateSecret(tx, actorOf(request), appId, id, overlapSeconds, secretBox);
      });
      return reply.send({ success: true, data, meta });
    },
  );
}
