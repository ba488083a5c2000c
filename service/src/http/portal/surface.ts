/** The surface on which the portal's operations are served: errors, parameters and the signed-in caller. */
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { proofMinutes } from '../../contract/periods.ts';
import type { Actor } from '../../access/actor.ts';
import { errorBody, pageEnvelope } from '../../contract/envelope.ts';
import { uuid } from '../../contract/shapes.ts';
import type { Change } from '../../database/database.ts';
import { errorCatalogue, ServiceError, type ErrorCode } from '../../errors.ts';
import { createCursors, type Cursors } from '../../events/cursors.ts';
import type { Search } from '../../directory/search/search.ts';
import type { Caller } from '../../sign-in/caller.ts';
import type { SignedInAccount } from '../../sign-in/activity.ts';
import { holdSession } from '../../sign-in/sessions.ts';
import type { SignedIn, SignIn } from '../../sign-in/sign-in.ts';
import type { Health } from '../../system/health.ts';
import { inTurnOfCaller } from '../admission/caller-turns.ts';
import { confirmedChange } from '../confirmed-change.ts';
import { operationFor, type Surface } from '../operations.ts';
import { responses } from '../responses/responses.ts';
import {
  parameters as webhookParameters,
  type WebhookDependencies,
} from '../webhooks/operation.ts';
import { callerOf, signedInOf } from './authenticate.ts';
import { createSignInLimits, type SignInLimits } from './sign-in-limits.ts';

export type PortalRouteDependencies = WebhookDependencies & {
  signIn: SignIn;
  search: Pick<Search, 'find'>;
  health: Health;
  publicUrl: string;
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
};
/** Of everybody. */
type OpenContext = PortalRouteDependencies & {
  limits: SignInLimits;
  cursors: Cursors;
  caller: Caller;
};
/** Of signed-in users. */
export type PortalContext = OpenContext & {
  signedIn: SignedIn;
  /** The address by which the caller is a member of apps. */
  email: string;
  account: SignedInAccount;
  actor: Actor;
  change: Change;
};

export const openOperation = operationFor<OpenContext>();
export const operation = operationFor<PortalContext>();

/** A list that is short enough to need no pages. */
export function onOnePage(data: unknown[]) {
  return pageEnvelope(data, { page: 1, limit: Math.max(100, data.length) }, data.length);
}

const open: ErrorCode[] = ['validation_failed', 'rate_limited', 'internal_error', 'unavailable'];
const signedInErrors: ErrorCode[] = [...open, 'unauthorized', 'suspended'];
const write: ErrorCode[] = ['forbidden', 'payload_too_large', 'unsupported_media_type'];

/** Shared by all surfaces of the portal. */
const portalSurface = {
  conditional: false,
  responses: portalResponses,
  parameters: {
    ...webhookParameters,
    keyId: uuid({ description: 'The id of the key.' }),
    memberId: uuid({ description: 'The id of the member.' }),
    invitationId: uuid({ description: 'The id of the invitation.' }),
    methodId: uuid({ description: 'The id of the method.' }),
    passkeyId: uuid({ description: 'The id of the passkey.' }),
    sessionId: uuid({ description: 'The id of the session.' }),
  },
};

/** For everybody: signing in, which has limits of its own for each address (`sign-in-limits.ts`). */
export const openSurface = {
  ...portalSurface,
  config: { portal: 'open' as const },
  security: [],
  errors: { read: open, write: [...open, ...write] },
};

export type PortalSurfaces = ReturnType<typeof createSurfaces>;

/** For everybody, and for signed-in users. */
export function createSurfaces(dependencies: PortalRouteDependencies) {
  const shared = {
    ...dependencies,
    limits: createSignInLimits(),
    cursors: createCursors(dependencies.secretKeys),
  };
  const openContext = (request: FastifyRequest) => ({ ...shared, caller: callerOf(request) });
  return {
    open: { ...openSurface, contextOf: openContext } satisfies Surface<OpenContext>,
    signedIn: {
      ...portalSurface,
      config: { portal: 'signed-in' } as FastifyContextConfig,
      security: [{ session: [] }],
      errors: { read: signedInErrors, write: [...signedInErrors, 'maintenance', ...write] },
      inTurn: inTurnOfCaller,
      requireRecentProof,
      contextOf(request: FastifyRequest): PortalContext {
        const signedIn = signedInOf(request);
        const { userId: id, email, sessionId } = signedIn;
        const change = confirmedChange(dependencies.database, async (tx) => {
          dependencies.appLimits.changes(email);
          await holdSession(tx, sessionId);
        });
        return {
          ...openContext(request),
          signedIn,
          email,
          account: { id, email, sessionId, caller: callerOf(request) },
          actor: { kind: 'user', id, name: email },
          change,
        };
      },
    } satisfies Surface<PortalContext>,
  };
}

/** Throws `proof_required`. */
export function requireRecentProof(request: FastifyRequest): void {
  if (!signedInOf(request).isRecentlyProven)
    throw new ServiceError('proof_required', 'Confirm that it is you first.');
}

/** Descriptions that differ from those of an API with keys. */
const words: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'You are not signed in.',
  forbidden: 'The request comes from another site, or you are not allowed to do this.',
  suspended: 'The operator has suspended your account, the app, the webhook or the key.',
  proof_required: `Your last proof of who you are is more than ${proofMinutes} minutes old.`,
};

/** The `response` of a route schema. */
function portalResponses(
  status: 200 | 201 | 202,
  description: string,
  response: { schema: TSchema; example: unknown },
  errors: ErrorCode[],
  options: { conditional?: boolean } = {},
): ReturnType<typeof responses> {
  const described = responses(status, description, response, errors, options);
  // Users have one limit.
  for (const { headers } of Object.values(described)) delete headers['X-RateLimit-Scope'];
  for (const refused of ['401', '403']) {
    const error = described[refused];
    if (!error) continue;
    const codes = errors.filter((code) => String(errorCatalogue[code].status) === refused);
    error.description = codes.map(describeError).join(' Or: ');
    // The portal's pages do not send such a header.
    delete error.headers['WWW-Authenticate'];
    const json = error.content?.['application/json'] as { schema: TSchema } | undefined;
    const examples = Object.fromEntries(codes.map((code) => [code, exampleOf(code)]));
    error.content = { 'application/json': { schema: json?.schema, examples } };
  }
  return described;
}

function describeError(code: ErrorCode): string {
  return words[code] ?? errorCatalogue[code].message;
}

function exampleOf(code: ErrorCode) {
  const text = describeError(code);
  return { summary: text, value: errorBody(code, text, {}) };
}
