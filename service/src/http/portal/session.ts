/** GET /session returns the signed-in user. */
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { PortalSession } from '../../contract/portal.ts';
import { oneOf } from '../responses/responses.ts';
import { signedInOf } from './authenticate.ts';
import { toPortalSession } from './portal-session.ts';
import { operation } from './surface.ts';

const example = {
  id: exampleId,
  user: { id: exampleId, name: 'Ada', email: 'ada@example.org', image: null },
  missingFactor: null,
  suspendedAt: null,
  suspendedReason: null,
  expiresAt: exampleTime,
};

export const getSession = operation({
  operationId: 'getSession',
  method: 'GET',
  path: '/session',
  summary: 'Get the session',
  description:
    'Returns the signed-in user. Extends a session that is older than a day. While a second factor is missing, other operations return `unauthorized`; while the account is suspended, `suspended`.',
  returns: { 200: 'The session.' },
  response: oneOf(PortalSession, 'PortalSessionResponse', example),
  run: ({ request }) => envelope(toPortalSession(signedInOf(request))),
});
