/** Routes that manage webhooks: an app sees and changes its own. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { keyActor } from '../../access/actor.ts';
import type { Config } from '../../config.ts';
import { meta, pagination } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { nullable, strictObject, uuid } from '../../contract/shapes.ts';
import { CreatedWebhook, Webhook } from '../../contract/webhook.ts';
import { PageQuery } from '../../directory/list-query.ts';
import type { SecretBox } from '../../webhooks/sending/secrets.ts';
import type { TestDependencies } from '../../webhooks/management/test-webhook.ts';
import { updateWebhook } from '../../webhooks/management/update-webhook.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
} from '../../webhooks/management/webhooks.ts';
import { callerOf } from '../admit.ts';
import { errorsOf, listOf, oneOf, responses } from '../responses.ts';
import { common, config, noQuery, params, sendRead, type AppLimits } from './webhook-route.ts';

export type WebhookDependencies = Omit<TestDependencies, 'webhooks'> & {
  secretBox: SecretBox;
  webhooks: Config['webhooks'];
  appLimits: AppLimits;
};

const address = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Where to send: https, no credentials, no fragment.',
  examples: ['https://example.org/hooks'],
});
const events = Type.Array(
  Type.String({ minLength: 1, maxLength: 100, examples: ['org.created'] }),
  {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description:
      'Which events. Without it: every event that the app may have, later ones included.',
  },
);
const note = Type.String({ maxLength: 500, description: 'A note for yourself.' });

export const NewWebhook = strictObject(
  {
    url: address,
    events: Type.Optional(nullable(events)),
    description: Type.Optional(nullable(note)),
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

export const WebhookChanges = strictObject(
  {
    url: Type.Optional(address),
    events: Type.Optional(nullable(events)),
    description: Type.Optional(nullable(note)),
    active: Type.Optional(
      Type.Boolean({
        description:
          'True activates it again and clears the count of failures; false switches it off and ends what is pending.',
      }),
    ),
  },
  {
    title: 'WebhookChanges',
    description: 'What to change; what is left out stays.',
    minProperties: 1,
    examples: [{ active: true }],
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
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      const found = await listWebhooks(database, callerOf(request).appId, request.query);
      return sendRead(request, reply, {
        success: true,
        data: found.webhooks,
        meta,
        pagination: pagination(request.query, found.total),
      });
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
      const caller = callerOf(request);
      const created = await database
        .transaction()
        .execute((tx) =>
          createWebhook(tx, keyActor(caller), caller.appId, request.body, webhooks, secretBox),
        );
      // A secret is in it: nobody may keep a copy on the way.
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send({ success: true, data: created, meta });
    },
  );

  routes.get(
    '/webhooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'getWebhook',
        summary: 'Get one webhook',
        description: 'Without its secret. Needs the scope `write:webhooks`.',
        params,
        querystring: noQuery,
        response: responses(
          200,
          'The webhook.',
          oneOf(Webhook, 'WebhookResponse', examples.webhook),
          errorsOf.keyedResource,
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      const data = await readWebhook(database, callerOf(request).appId, request.params.id);
      return sendRead(request, reply, { success: true, data, meta });
    },
  );

  routes.patch(
    '/webhooks/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'updateWebhook',
        summary: 'Change a webhook',
        description: 'Also activates and deactivates it. Needs the scope `write:webhooks`.',
        params,
        body: WebhookChanges,
        querystring: noQuery,
        response: responses(
          200,
          'The webhook as it is now.',
          oneOf(Webhook, 'WebhookResponse', examples.webhook),
          errorsOf.keyedResourceBody,
        ),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { id } = request.params;
      const data = await database
        .transaction()
        .execute((tx) =>
          updateWebhook(tx, keyActor(caller), caller.appId, id, request.body, webhooks),
        );
      reply.header('cache-control', 'no-store');
      return { success: true, data, meta };
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
      const caller = callerOf(request);
      await database
        .transaction()
        .execute((tx) => deleteWebhook(tx, keyActor(caller), caller.appId, request.params.id));
      reply.header('cache-control', 'no-store');
      return { success: true, data: { id: request.params.id, deleted: true }, meta };
    },
  );
}

export const DeletedWebhook = strictObject(
  {
    id: uuid({ description: 'Of the webhook that was.' }),
    deleted: Type.Literal(true, { description: 'Always true.' }),
  },
  { title: 'DeletedWebhook', description: 'Says that a webhook is gone.' },
);
