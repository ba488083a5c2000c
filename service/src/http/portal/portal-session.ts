/** What the pages get of a session and of the ways to sign in, with the page itself or by an operation. */
import type { SignedIn, SignIn } from '../../sign-in/sign-in.ts';
import { passwordLengthMax, passwordLengthMin } from '../../contract/account.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { PortalSession } from '../../contract/portal.ts';
import { oneOf } from '../responses/responses.ts';
import { operation } from './surface.ts';

/** The session as the pages get it. Nobody learns a name by a password alone. */
export function toPortalSession({
  sessionId: id,
  userId,
  expiresAt,
  missingFactor,
  name,
  image,
  email,
  suspension,
  operatorRole,
}: SignedIn) {
  const isShown = missingFactor !== 'confirm';
  const shown = isShown ? { name, image } : { name: email, image: null };
  return {
    id,
    user: { id: userId, email, ...shown },
    missingFactor,
    operatorRole: missingFactor === null ? operatorRole : null,
    suspendedAt: (isShown && suspension?.suspendedAt) || null,
    suspendedReason: (isShown && suspension?.suspendedReason) || null,
    expiresAt,
  };
}

/** The ways to sign in that this service offers. */
export function signInOptionsOf({ links, providers }: SignIn) {
  return {
    password: {
      signUp: links !== null,
      links,
      lengthMin: passwordLengthMin,
      lengthMax: passwordLengthMax,
    },
    providers,
  };
}

const example = {
  id: exampleId,
  user: { id: exampleId, name: 'Ada', email: 'ada@example.org', image: null },
  missingFactor: null,
  operatorRole: null,
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
  run: ({ signedIn }) => envelope(toPortalSession(signedIn)),
});
