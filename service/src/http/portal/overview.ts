/** GET /overview summarises how the user's apps are doing. */
import { exampleId, exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { Overview } from '../../contract/portal.ts';
import { readOverview } from '../../webhooks/management/overview.ts';
import { oneOf } from '../responses/responses.ts';
import { operation } from './surface.ts';

const app = { appId: exampleId, appName: 'Announcer' };
const example: Overview = {
  maintenance: null,
  webhooks: [
    {
      ...app,
      webhookId: exampleId,
      host: 'example.org',
      url: 'https://example.org/hooks',
      format: 'json',
      description: 'Announces new organisations',
      health: 'deactivated',
      state: 'deactivated',
      reason: 'failing',
      suspendedReason: null,
      since: exampleTime,
      failingSince: exampleTime,
      lastSuccessAt: exampleTime,
      lastError: { at: exampleTime, statusCode: 500, error: null },
      unsent: 214,
      unsentSince: exampleTime,
      exhaustedInARow: 5,
    },
  ],
  keys: [
    { ...app, keyId: exampleId, name: 'On the server', last4: '0000', expiresAt: exampleLaterTime },
  ],
};

export const getOverview = operation({
  operationId: 'getOverview',
  method: 'GET',
  path: '/overview',
  summary: 'Get the overview',
  description: 'Returns the webhooks and keys that need attention.',
  returns: { 200: 'The overview.' },
  response: oneOf(Overview, 'OverviewResponse', example),
  async run({ database, health, email }) {
    const { maintenance } = health.snapshot();
    return envelope({ maintenance, ...(await readOverview(database, email)) });
  },
});
