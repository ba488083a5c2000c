/**
 * GET /auth/callback/:provider, to which a provider sends the browser back: better-auth handles it. The one route of
 * sign-in that redirects, so this is where every `Location` is checked.
 */
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { callerOf, readSession } from './authenticate.ts';
import { openSurface } from './surface.ts';

/** The portal pages that sign-in may send the browser to, with any query. */
const returnPages = ['', '/sign-in', '/account'];
const portalPath = '/profile/developer';
const consolePath = '/profile/operator';

/** A regular expression for the path and query of such a page, below the path of `publicUrl`. */
export function returnPattern(publicUrl: string): string {
  const base = new URL(publicUrl).pathname.replace(/\/$/, '');
  const pages = [portalPath, consolePath].flatMap((path) =>
    returnPages.map((page) => `${base}${path}${page}`),
  );
  return `^(${pages.map(escapePattern).join('|')})(\\?[^#\\s\\\\]*)?$`;
}

export function registerCallback(
  portal: FastifyInstance,
  { signIn, publicUrl }: { signIn: SignIn; publicUrl: string },
): void {
  const { origin } = new URL(publicUrl);
  const allowed = new RegExp(returnPattern(publicUrl));

  portal.route<{ Params: { provider: string } }>({
    method: 'GET',
    url: '/auth/callback/:provider',
    // A HEAD would use up the state of the sign-in and respond with nothing.
    exposeHeadRoute: false,
    config: openSurface.config,
    schema: { hide: true },
    handler: async (request, reply) => {
      const { provider } = request.params;
      if (!signIn.providers.some(({ id }) => id === provider)) throw new ServiceError('not_found');
      const query = new URL(request.url, publicUrl).search;
      const url = `${publicUrl}/portal/api/auth/callback/${encodeURIComponent(provider)}${query}`;
      const signedIn = await readSession(signIn, request, reply);
      const mayLink =
        signedIn?.missingFactor === null && signedIn.isRecentlyProven && !signedIn.suspension;
      const sessionId = mayLink ? signedIn.sessionId : null;
      const response = await signIn.callback(url, callerOf(request), sessionId);
      const page = response && pageOf(response.headers.get('location'));
      if (!page)
        return reply.redirect(`${publicUrl}${portalPath}/sign-in?error=state_mismatch`, 302);
      for (const cookie of response.headers.getSetCookie()) reply.header('set-cookie', cookie);
      return reply.redirect(page, 302);
    },
  });

  /** Null for anything but one of our own pages. */
  function pageOf(location: string | null): string | null {
    const url = URL.parse(location ?? '', publicUrl);
    return url?.origin === origin && allowed.test(url.pathname + url.search) ? url.href : null;
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
