/** Routes that do something with a webhook: test it, give it a new secret. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { keyActor } from '../../access/actor.ts';
import { meta } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { nullable, strictObject } from '../../contract/shapes.ts';
import { CreatedWebhook, DeliveryDetail } from '../../contract/webhook.ts';
import {
  overlapSecondsDefault,
  overlapSecondsMax,
  rotateSecret,
} from '../../webhooks/management/rotate-secret.ts';
import { testWebhook } from '../../webhooks/management/test-webhook.ts';
import { callerOf } from '../admit.ts';
import { errorsOf, oneOf, responses } from '../responses.ts';
import { common, config, noQuery, params, testsPerMinute, withEmptyBody } from './webhook-route.ts';
import type { WebhookDependencies } from './webhooks.ts';

export const TestRequest = strictObject(
  {
    event: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: 'An event whose sample the test is to hold.',
          examples: ['org.created'],
        }),
      ),
    ),
  },
  {
    title: 'WebhookTestRequest',
    description: 'What a test is to hold.',
    examples: [{ event: 'org.created' }],
  },
);

export const RotateRequest = strictObject(
  {
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description: 'How long the old secret stays valid.',
    }),
  },
  {
    title: 'RotateSecretRequest',
    description: 'How to change over.',
    examples: [{ overlapSeconds: 3600 }],
  },
);

export function registerWebhookActions(
  app: FastifyInstance,
  dependencies: WebhookDependencies,
): void {
  const { database, secretBox, appLimits } = dependencies;
  const routes = app.withTypeProvider<TypeBoxTypeProvider>();

  routes.post(
    '/webhooks/:id/test',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'testWebhook',
        summary: 'Send a test',
        params,
        body: TestRequest,
        querystring: noQuery,
        description: `Sends \`webhook.test\` now, in one attempt, and answers with its record. At most ${testsPerMinute} a minute and app. Needs the scope \`write:webhooks\`.`,
        response: responses(
          200,
          'The delivery, its attempt included.',
          oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery),
          [...errorsOf.keyedResourceBody, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId } = callerOf(request);
      appLimits.tests(appId);
      const delivery = await testWebhook(dependencies, {
        appId,
        webhookId: request.params.id,
        event: request.body.event ?? null,
      });
      reply.header('cache-control', 'no-store');
      return { success: true, data: delivery, meta };
    },
  );

  routes.post(
    '/webhooks/:id/rotate-secret',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'rotateWebhookSecret',
        summary: 'Give it a new secret',
        description:
          'Answers with the new secret, this once. While the two overlap, `webhook-signature` holds both signatures, and the single-valued header keeps the old one. Needs the scope `write:webhooks`.',
        params,
        body: RotateRequest,
        querystring: noQuery,
        response: responses(
          200,
          'The webhook, with its new secret.',
          oneOf(CreatedWebhook, 'CreatedWebhookResponse', examples.createdWebhook),
          errorsOf.keyedResourceBody,
        ),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { overlapSeconds } = request.body;
      const data = await database
        .transaction()
        .execute((tx) =>
          rotateSecret(
            tx,
            keyActor(caller),
            caller.appId,
            request.params.id,
            overlapSeconds,
            secretBox,
          ),
        );
      reply.header('cache-control', 'no-store');
      return { success: true, data, meta };
    },
  );
}
