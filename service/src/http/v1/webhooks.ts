/** Serves the webhooks of the key's app under `/webhooks`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keyActor } from '../../access/actor.ts';
import { callerOf, keySecurity } from '../admission/admit.ts';
import { mountOperations } from '../operations.ts';
import { errorsOf, responses } from '../responses/responses.ts';
import { deliveryOperations } from '../webhooks/delivery-operations.ts';
import { parameters, type WebhookDependencies } from '../webhooks/operation.ts';
import { webhookOperations } from '../webhooks/webhook-operations.ts';

export function registerWebhooks(app: FastifyInstance, dependencies: WebhookDependencies): void {
  const surface = {
    root: '/webhooks',
    config: { scope: 'write:webhooks' as const },
    security: keySecurity,
    conditional: true,
    errors: { read: errorsOf.keyed, write: errorsOf.keyedBody },
    responses,
    parameters,
    describe: ({ description }: { description: string }) =>
      `${description} Needs the scope \`write:webhooks\`.`,
    contextOf(request: FastifyRequest) {
      const caller = callerOf(request);
      const { appId } = caller;
      return {
        ...dependencies,
        appId,
        actor: keyActor(caller),
        readsSecrets: true,
        // A key has its rights until it is revoked, which takes effect within a second.
        lockApp: async () => {},
      };
    },
  };
  mountOperations(app, surface, 'Webhooks', [...webhookOperations, ...deliveryOperations]);
}
