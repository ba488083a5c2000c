/** Serves the webhooks of the key's app under `/webhooks`. */
import type { FastifyInstance } from 'fastify';
import { keyActor } from '../../access/actor.ts';
import { callerOf, keySecurity } from '../admit.ts';
import { errorsOf, responses } from '../responses.ts';
import { mountWebhooks } from '../webhooks/mount.ts';
import type { WebhookDependencies } from '../webhooks/operation.ts';

export function registerWebhooks(app: FastifyInstance, dependencies: WebhookDependencies): void {
  mountWebhooks(app, dependencies, {
    root: '/webhooks',
    config: { scope: 'write:webhooks' },
    security: keySecurity,
    conditional: true,
    errors: { read: errorsOf.keyed, write: errorsOf.keyedBody },
    responses,
    describe: ({ description }) => `${description} Needs the scope \`write:webhooks\`.`,
    callerOf(request) {
      const caller = callerOf(request);
      return { appId: caller.appId, actor: keyActor(caller) };
    },
  });
}
