/** Operations on the webhooks themselves. See `delivery-operations.ts` for those on their deliveries. */
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { CreatedWebhook, DeliveryDetail, Webhook } from '../../contract/webhook.ts';
import { repeatableMinutes } from '../../contract/periods.ts';
import { defaultQuotas } from '../../contract/quotas.ts';
import type { Change, Transaction } from '../../database/database.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { idempotencyKeyOf, tellRepeated } from '../idempotent-requests.ts';
import { createOnce } from '../../webhooks/management/create-webhook-once.ts';
import { rotateOnce, rotateSecret } from '../../webhooks/management/rotate-secret.ts';
import { maskUrl } from '../../webhooks/sending/chat-platforms.ts';
import { testWebhook } from '../../webhooks/management/test-webhook.ts';
import { updateWebhook } from '../../webhooks/management/update-webhook.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
} from '../../webhooks/management/webhooks.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { testsPerMinute, type AppLimits, operation } from './operation.ts';
import {
  CreationHeaders,
  DeletedWebhook,
  WebhookInput,
  RotateRequest,
  RotationHeaders,
  TestRequest,
  WebhookChanges,
} from './bodies.ts';

const response = oneOf(Webhook, 'WebhookResponse', examples.webhook);
const responseWithSecret = oneOf(CreatedWebhook, 'CreatedWebhookResponse', examples.createdWebhook);

export const webhookOperations = [
  operation({
    operationId: 'listWebhooks',
    method: 'GET',
    path: '',
    summary: 'List your webhooks',
    description: "Returns the webhooks of the key's app, oldest first.",
    query: PageQuery,
    returns: { 200: 'Your webhooks.' },
    response: listOf(Webhook, 'WebhookList', examples.webhook),
    async run({ database, appId, readsSecrets, query }) {
      const { total, webhooks } = await listWebhooks(database, appId, query);
      return pageEnvelope(readsSecrets ? webhooks : webhooks.map(withoutSecrets), query, total);
    },
  }),
  operation({
    operationId: 'createWebhook',
    method: 'POST',
    path: '',
    summary: 'Create a webhook',
    description: `Only this response has the secret. An app can have ${defaultQuotas.webhooks} webhooks, unless the operator has set another number. With an \`Idempotency-Key\` the request can be repeated for ${repeatableMinutes} minutes: the response is the same, secret included, with the header \`Idempotent-Replayed: true\`. With another body, or after the webhook was deleted or its secret rotated, it is a \`conflict\`.`,
    headers: CreationHeaders,
    body: WebhookInput,
    returns: { 201: 'The new webhook with its secret.' },
    response: responseWithSecret,
    errors: ['conflict'],
    recentProof: true,
    async run({ change, appLimits, appId, actor, body, request, reply, ...options }) {
      const { webhooks, secretBox, serviceName } = options;
      const key = idempotencyKeyOf(request);
      const { webhook, isRepeated } = await counted({ change, appLimits, appId }, async (tx) => {
        const create = () =>
          createWebhook(tx, actor, appId, body, webhooks, { secretBox, serviceName });
        if (key === undefined) return { webhook: await create(), isRepeated: false };
        return createOnce(tx, appId, { key, input: body }, secretBox, create);
      });
      tellRepeated(reply, isRepeated);
      return envelope(webhook);
    },
  }),
  operation({
    operationId: 'getWebhook',
    method: 'GET',
    path: '/:id',
    summary: 'Get a webhook',
    description: 'Returns a webhook without its secret.',
    returns: { 200: 'The webhook.' },
    response,
    async run({ database, appId, readsSecrets, params }) {
      const webhook = await readWebhook(database, appId, params.id);
      return envelope(readsSecrets ? webhook : withoutSecrets(webhook));
    },
  }),
  operation({
    operationId: 'updateWebhook',
    method: 'PATCH',
    path: '/:id',
    summary: 'Update a webhook',
    description:
      'Changes the settings of a webhook, or activates or deactivates it. A URL of another origin removes the headers that you added, unless the same request sets `headers`.',
    body: WebhookChanges,
    returns: { 200: 'The updated webhook.' },
    response,
    errors: ['conflict'],
    recentProof: 'if asked',
    async run({ change, appLimits, webhooks, appId, actor, params, body, ...options }) {
      const data = await counted({ change, appLimits, appId }, (tx) =>
        updateWebhook(tx, actor, appId, params.id, body, webhooks, options),
      );
      return envelope(data);
    },
  }),
  operation({
    operationId: 'deleteWebhook',
    method: 'DELETE',
    path: '/:id',
    summary: 'Delete a webhook',
    description: 'Deletes a webhook and cancels its pending deliveries.',
    returns: { 200: 'The webhook was deleted.' },
    response: oneOf(DeletedWebhook, 'DeletedWebhookResponse', {
      id: examples.webhook.id,
      deleted: true,
    }),
    async run({ change, appLimits, appId, actor, params: { id } }) {
      await counted({ change, appLimits, appId }, (tx) => deleteWebhook(tx, actor, appId, id));
      return envelope({ id, deleted: true });
    },
  }),
  operation({
    operationId: 'testWebhook',
    method: 'POST',
    path: '/:id/test',
    summary: 'Send a test',
    description: `Sends \`webhook.test\` in one attempt and returns the result. At most ${testsPerMinute} per minute and app.`,
    body: TestRequest,
    bodyOptional: true,
    returns: { 200: 'The delivery with its attempt.' },
    response: oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery),
    errors: ['conflict'],
    waitsForOthers: true,
    async run({ appId, params, body, ...dependencies }) {
      dependencies.appLimits.tests(appId);
      const target = { appId, webhookId: params.id, event: body.event ?? null };
      return envelope(await testWebhook(dependencies, target));
    },
  }),
  operation({
    operationId: 'rotateWebhookSecret',
    method: 'POST',
    path: '/:id/rotate-secret',
    summary: 'Rotate the secret',
    description: `Only this response has the new secret. While both secrets are valid, \`webhook-signature\` has both signatures, and \`X-Service-Signature\` is made with the old secret. With an \`Idempotency-Key\` the request can be repeated for ${repeatableMinutes} minutes: it makes no other secret, and the response has the header \`Idempotent-Replayed: true\`. With another body, or after another rotation, it is a \`conflict\`.`,
    headers: RotationHeaders,
    body: RotateRequest,
    bodyOptional: true,
    returns: { 200: 'The webhook with its new secret.' },
    response: responseWithSecret,
    errors: ['conflict'],
    recentProof: true,
    async run({ change, appLimits, secretBox, appId, actor, params, body, request, reply }) {
      const key = idempotencyKeyOf(request);
      const once = { by: appId, key, content: ['rotateWebhookSecret', params.id, body] };
      const { webhook, isRepeated } = await counted({ change, appLimits, appId }, (tx) =>
        rotateOnce(tx, once, { appId, id: params.id }, secretBox, () =>
          rotateSecret(tx, actor, appId, params.id, body.overlapSeconds, secretBox),
        ),
      );
      tellRepeated(reply, isRepeated);
      return envelope(webhook);
    },
  }),
];

/** Makes a change that counts, unless it is refused. */
function counted<Result>(
  { change, appLimits, appId }: { change: Change; appLimits: AppLimits; appId: string },
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return change(async (tx) => {
    const result = await work(tx);
    appLimits.changes(appId);
    return result;
  });
}

/** The path and query of a URL may hold a token, such as that of a chat channel. */
export function withoutSecrets<T extends { url: string }>(webhook: T): T {
  return { ...webhook, url: maskUrl(webhook.url) };
}
