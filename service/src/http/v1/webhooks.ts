/** Serves the webhooks of the key's app under `/webhooks`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keyActor } from '../../access/actor.ts';
import { holdKey } from '../../access/keys.ts';
import { callerOf, unauthorized } from '../admission/admit.ts';
import { confirmedChange } from '../confirmed-change.ts';
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
        change: confirmedChange(dependencies.database, async (tx) => {
          if (!(await holdKey(tx, caller))) throw unauthorized();
        }),
      };
    },
  };
  mountOperations(app, surface, 'Webhooks', [...webhookOperations, ...deliveryOperations]);
}
