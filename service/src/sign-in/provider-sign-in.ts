/** Signing in with GitHub, Discord or an OpenID provider, and adding one of them to an account. */
import type { Config } from '../settings/config.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Auth } from './auth.ts';
import { throwWithoutDetails } from './begin-session.ts';
import { callers, headersOf, type Caller, type LinkingState } from './caller.ts';
import type { KnownDevices } from './known-devices.ts';
import { userHasFactor } from './session-proof.ts';

/** `cookies`: the `Set-Cookie` lines of the response. */
type Leaving = { url: string; cookies: string[] };

/** Pages of the portal to return to: after success, and after a failure with `?error=`. */
type BackTo = { callbackURL: string; errorCallbackURL: string };

type Dependencies = {
  database: Database;
  devices: KnownDevices;
  metrics: Pick<Metrics, 'signedIn'>;
  load: () => Promise<Auth>;
};

export function createProviderSignIn(
  settings: Config['signIn'],
  { database, devices, metrics, load }: Dependencies,
) {
  const providers = providersOf(settings);

  async function loadWith(provider: string): Promise<Auth> {
    if (!providers.some(({ id }) => id === provider)) throw new ServiceError('not_found');
    return load();
  }

  return {
    providers,
    /** Where to send the browser to sign in with a provider. Throws `not_found` for a provider that is not configured. */
    async withProvider(provider: string, back: BackTo, caller: Caller): Promise<Leaving> {
      const { api } = await loadWith(provider);
      return leaving(api.signInSocial(redirectRequest(provider, back, caller)));
    },
    /** The same, to add the provider to the account of this session. */
    async linkProvider(
      provider: string,
      back: BackTo,
      { caller, sessionId }: { caller: Caller; sessionId: string },
    ): Promise<Leaving> {
      const { api } = await loadWith(provider);
      const { body, ...request } = redirectRequest(provider, back, caller);
      const additionalData = { linkingSession: sessionId } satisfies LinkingState;
      return leaving(api.linkSocialAccount({ ...request, body: { ...body, additionalData } }));
    },
    /**
     * Responds to the provider's redirect below `/portal/api/auth/callback`; null for one that better-auth refuses.
     * `sessionId`: of the caller's session, if it is complete and recently proven. Only the session that began to add a
     * provider ends it.
     */
    async callback(
      url: string,
      caller: Caller,
      sessionId: string | null,
    ): Promise<Response | null> {
      const auth = await load();
      const request = new Request(url, { headers: headersOf(caller, sessionId) });
      const response = await handle(auth, request, caller);
      const failed = !response || isFailure(response);
      if (failed) metrics.signedIn({ method: 'provider', outcome: 'failed' });
      if (!response) return null;
      const cookie = response.headers.getSetCookie().map((each) => each.split(';', 1)[0]);
      const headers = new Headers({ cookie: cookie.join('; ') });
      const begun = await auth.api.getSession({ headers }).catch(throwWithoutDetails);
      // Not if the provider was only added to an account.
      if (begun) metrics.signedIn({ method: 'provider', outcome: 'succeeded' });
      // A device becomes known with the second factor, if the account has one.
      if (begun && !(await userHasFactor(database, begun.user.id)))
        response.headers.append('set-cookie', devices.remember(begun.user.email));
      return response;
    },
  };
}

async function handle(auth: Auth, request: Request, caller: Caller): Promise<Response | null> {
  const coming: ReturnType<typeof callers.getStore> = { ...caller };
  const response = await callers
    .run(coming, () => auth.handler(request))
    .catch((error: unknown) => nullIfRefused(coming.failure ?? error));
  if (response && coming.failure !== undefined) sayUnavailable(response);
  return response;
}

function nullIfRefused(error: unknown): null {
  if (typeof (error as { status?: unknown }).status === 'string') return null;
  return throwWithoutDetails(error);
}

/** In the place of better-auth's words for a provider that failed. */
function sayUnavailable({ headers }: Response): void {
  const location = headers.get('location') ?? '';
  headers.set(
    'location',
    location.replace(/\berror=unable_to_get_user_info\b/, 'error=unavailable'),
  );
}

/** better-auth says so in the address of the page that it redirects to. */
function isFailure({ headers }: Response): boolean {
  return (
    URL.parse(headers.get('location') ?? '', 'http://localhost')?.searchParams.has('error') ?? false
  );
}

function redirectRequest(provider: string, back: BackTo, caller: Caller) {
  return {
    body: { provider, ...back, disableRedirect: true },
    headers: headersOf(caller),
    returnHeaders: true as const,
  };
}

async function leaving(
  redirect: Promise<{ response: { url?: string | undefined }; headers: Headers }>,
): Promise<Leaving> {
  const { response, headers } = await redirect.catch(throwWithoutDetails);
  return { url: response.url ?? '', cookies: headers.getSetCookie() };
}

function providersOf({ github, discord, oidc }: Config['signIn']): { id: string; name: string }[] {
  return [
    ...(github ? [{ id: 'github', name: 'GitHub' }] : []),
    ...(discord ? [{ id: 'discord', name: 'Discord' }] : []),
    ...(oidc ? [{ id: 'oidc', name: oidc.name }] : []),
  ];
}
