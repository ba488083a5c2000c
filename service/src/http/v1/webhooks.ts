/** Routes that manage webhooks: an app sees and changes its own. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { meta, pagination } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { nullable, strictObject, uuid } from '../../contract/shapes.ts';
import { CreatedWebhook, DeliveryDetail, Webhook } from '../../contract/webhook.ts';
import { ServiceError } from '../../errors.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { testWebhook, type TestDependencies } from '../../webhooks/test-webhook.ts';
import { createWebhook, deleteWebhook, listWebhooks } from '../../webhooks/webhooks.ts';
import { callerOf } from '../admit.ts';
import { createRequestCounter, secondsUntil } from '../request-counter.ts';
import { errorsOf, listOf, oneOf, responses } from '../responses.ts';
import { keyedCacheControl } from '../send-entry.ts';

export type WebhookDependencies = Omit<TestDependencies, 'webhooks'> & {
  webhooks: Config['webhooks'];
};

const common = { tags: ['Webhooks'], security: [{ bearer: [] }, { apiKey: [] }] };
const config = { scope: 'write:webhooks' } as const;
const params = Type.Object({ id: uuid({ description: 'Of the webhook.' }) });
const noQuery = Type.Object({}, { additionalProperties: false });
/** SPEC 4. */
const testsPerMinute = 10;

const NewWebhook = strictObject(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'Where to send: https, no credentials, no fragment.',
      examples: ['https://example.org/hooks'],
    }),
    events: Type.Optional(
      nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 100, examples: ['org.created'] }), {
          minItems: 1,
          maxItems: 50,
          uniqueItems: true,
          description:
            'Which events. Without it: every event that the app may have, later ones included.',
        }),
      ),
    ),
    description: Type.Optional(
      nullable(Type.String({ maxLength: 500, description: 'A note for yourself.' })),
    ),
  },
  {
    title: 'NewWebhook',
    description: 'A webhook to register.',
    examples: [
      {
        url: 'https://example.org/hooks',
        events: ['org.created'],
        description: 'Announces new organisations',
      },
    ],
  },
);

const TestRequest = strictObject(
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

export function registerWebhooks(app: FastifyInstance, dependencies: WebhookDependencies): void {
  const { database, webhooks, secretBox } = dependencies;
  const routes = app.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/webhooks',
    {
      config,
      schema: {
        ...common,
        operationId: 'listWebhooks',
        summary: 'List your webhooks',
        querystring: PageQuery,
        description:
          'The webhooks of the app that the key belongs to, oldest first. Needs the scope `write:webhooks`.',
        response: responses(
          200,
          'Your webhooks.',
          listOf(Webhook, 'WebhookList', examples.webhook),
          errorsOf.keyed,
        ),
      },
    },
    async (request, reply) => {
      const found = await listWebhooks(database, callerOf(request).appId, request.query);
      reply.header('cache-control', keyedCacheControl);
      return {
        success: true,
        data: found.webhooks,
        meta,
        pagination: pagination(request.query, found.total),
      };
    },
  );

  routes.post(
    '/webhooks',
    {
      config,
      schema: {
        ...common,
        operationId: 'createWebhook',
        summary: 'Register a webhook',
        body: NewWebhook,
        querystring: noQuery,
        description:
          'Answers with the secret, this once. An app has at most 20 webhooks. Needs the scope `write:webhooks`.',
        response: responses(
          201,
          'The new webhook, with its secret.',
          oneOf(CreatedWebhook, 'CreatedWebhookResponse', examples.createdWebhook),
          [...errorsOf.keyedBody, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId } = callerOf(request);
      const created = await database
        .transaction()
        .execute((tx) => createWebhook(tx, appId, request.body, webhooks, secretBox));
      // A secret is in it: nobody may keep a copy on the way.
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send({ success: true, data: created, meta });
    },
  );

  routes.delete(
    '/webhooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook',
        params,
        querystring: noQuery,
        description: 'Ends its pending deliveries. Needs the scope `write:webhooks`.',
        response: responses(
          200,
          'It is deleted.',
          oneOf(DeletedWebhook, 'DeletedWebhookResponse', {
            id: examples.webhook.id,
            deleted: true,
          }),
          errorsOf.keyedResourceBody,
        ),
      },
    },
    async (request, reply) => {
      const { appId } = callerOf(request);
      await database.transaction().execute((tx) => deleteWebhook(tx, appId, request.params.id));
      reply.header('cache-control', 'no-store');
      return { success: true, data: { id: request.params.id, deleted: true }, meta };
    },
  );

  const limitTests = createTestLimit();
  routes.post(
    '/webhooks/:id/test',
    {
      config,
      // A body is optional here; without one it is an empty object.
      preValidation: async (request) => {
        request.body ??= {};
      },
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
      limitTests(request);
      const { appId } = callerOf(request);
      const delivery = await testWebhook(dependencies, {
        appId,
        webhookId: request.params.id,
        event: request.body.event ?? null,
      });
      reply.header('cache-control', 'no-store');
      return { success: true, data: delivery, meta };
    },
  );
}

const DeletedWebhook = strictObject(
  {
    id: uuid({ description: 'Of the webhook that was.' }),
    deleted: Type.Literal(true, { description: 'Always true.' }),
  },
  { title: 'DeletedWebhook', description: 'Says that a webhook is gone.' },
);

function createTestLimit() {
  const count = createRequestCounter(testsPerMinute);
  return (request: FastifyRequest): void => {
    const { exceeded, resetAt } = count(callerOf(request).appId);
    if (!exceeded) return;
    throw new ServiceError('rate_limited', `More than ${testsPerMinute} tests in a minute.`, {
      headers: { 'retry-after': String(secondsUntil(resetAt)) },
    });
  };
}
