/**
 * Who may use the portal's server side, checked in this order: maintenance, session, rate, suspension, origin. During maintenance
 * everything can be read, so that a developer sees why nothing is delivered, but apps cannot be changed, except by operators.
 * Signing in and one's own account go on: readers have to sign in, and a stolen session can be ended at any time.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseSuspended } from '../../access/suspensions.ts';
import { ServiceError } from '../../errors.ts';
import { userAgentCharsMax, type Caller } from '../../sign-in/caller.ts';
import type { MissingFactor } from '../../sign-in/session-proof.ts';
import type { SignedIn, SignIn } from '../../sign-in/sign-in.ts';
import type { Health } from '../../system/health.ts';
import { createLimit, rejectDuringMaintenance } from '../admission/admit.ts';
import { inTurnOfAddress } from '../admission/caller-turns.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route. Absent: not an operation. */
    portal?: 'open' | 'signed-in' | 'operator';
    /** For completing a session: which second factor it may still miss. Default: none. */
    whileMissing?: readonly MissingFactor[];
    /** Whether a suspended account may call it. */
    whileSuspended?: boolean;
  }
  interface FastifyRequest {
    signedIn: SignedIn | null;
  }
}

export type PortalAuthenticationDependencies = {
  signIn: SignIn;
  health: Health;
  publicUrl: string;
  rateLimitPerMinute: number;
};

export const readMethods = new Set(['GET', 'HEAD']);

export function registerAuthentication(
  portal: FastifyInstance,
  dependencies: PortalAuthenticationDependencies,
): void {
  const { signIn, health, publicUrl, rateLimitPerMinute } = dependencies;
  const { origin } = new URL(publicUrl);
  const limit = createLimit(rateLimitPerMinute);
  portal.decorateRequest('signedIn', null);
  portal.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw new ServiceError('not_found');
    const {
      portal: who,
      duringMaintenance,
      whileMissing = [],
      whileSuspended,
    } = request.routeOptions.config;
    if (who === undefined) return;
    const writes = !readMethods.has(request.method);
    let missing: MissingFactor | null = null;
    if (who !== 'open') {
      if (writes && !duringMaintenance) rejectDuringMaintenance(health);
      const signedIn = await readSession(signIn, request, reply);
      missing = signedIn?.missingFactor ?? null;
      // For everybody else there is no console. Whoever has only the password does not learn whose it is.
      if (who === 'operator' && !signedIn?.operatorRole && missing !== 'confirm')
        throw new ServiceError('not_found');
      if (missing === null || whileMissing.includes(missing)) request.signedIn = signedIn;
    }
    const exceeded = limit(request, reply, request.signedIn?.userId ?? null);
    if (who !== 'open' && request.signedIn === null && missing !== null)
      throw new ServiceError('unauthorized', 'Your session needs a second factor first.', {
        details: { missingFactor: missing },
      });
    if (who !== 'open') signedInOf(request);
    if (exceeded) throw exceeded;
    // Whoever has only the password learns nothing about the account, not even this.
    if (missing !== 'confirm' && !whileSuspended)
      refuseSuspended('account', request.signedIn?.suspension ?? null);
    if (writes) requireOrigin(request, origin);
  });
}

/** Returns the signed-in user and sets the cookies that prolong or end the session. */
export async function readSession(
  signIn: SignIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SignedIn | null> {
  const { signedIn, cookies } = await inTurnOfAddress(request, () =>
    signIn.read(request.headers.cookie ?? ''),
  );
  for (const each of cookies) reply.header('set-cookie', each);
  return signedIn;
}

/** Every browser sends an Origin with a write. `SameSite=Lax` alone would admit pages of neighbouring hosts. */
function requireOrigin(request: FastifyRequest, origin: string): void {
  if (request.headers.origin === origin) return;
  throw new ServiceError('forbidden', `Only pages of ${origin} can make changes.`);
}

/** Throws `unauthorized`. */
export function signedInOf({ signedIn }: FastifyRequest): SignedIn {
  if (!signedIn) throw new ServiceError('unauthorized', 'Sign in first.');
  return signedIn;
}

/** The address and browser of a sign-in request. */
export function callerOf({ ip, headers }: FastifyRequest): Caller {
  const userAgent = headers['user-agent']?.slice(0, userAgentCharsMax) ?? null;
  // A client that has reset its connection has no address.
  return { ip: ip ?? '', userAgent, cookie: headers.cookie ?? null };
}
