/** Serves the webhooks of the key's app under `/webhooks`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keyActor } from '../../access/actor.ts';
import { callerOf } from '../admission/admit.ts';
import { mountOperations } from '../operations.ts';
import { deliveryOperations } from '../webhooks/delivery-operations.ts';
import { parameters, type WebhookDependencies } from '../webhooks/operation.ts';
import { webhookOperations } from '../webhooks/webhook-operations.ts';
import { keyedSurface } from './surface.ts';

export function registerWebhooks(app: FastifyInstance, dependencies: WebhookDependencies): void {
  const surface = {
    ...keyedSurface('write:webhooks'),
    root: '/webhooks',
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
