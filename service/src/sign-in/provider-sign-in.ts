/** Signing in with GitHub, Discord or an OpenID provider, and adding one of them to an account. */
import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { Auth } from './auth.ts';
import { throwWithoutDetails } from './auth-errors.ts';
import { headersOf, type Caller } from './caller.ts';

export type ProviderSignIn = {
  providers: { id: string; name: string }[];
  /** Where to send the browser to sign in with a provider. Throws `not_found` for a provider that is not configured. */
  withProvider(provider: string, back: BackTo, caller: Caller): Promise<Leaving>;
  /** The same, to add the provider to the account of whoever is signed in. */
  linkProvider(provider: string, back: BackTo, caller: Caller): Promise<Leaving>;
  /** Responds to the provider's redirect below `/portal/api/auth/callback`; null for one that better-auth refuses. */
  callback(url: string, caller: Caller): Promise<Response | null>;
};

/** `cookies`: the `Set-Cookie` lines of the response. */
type Leaving = { url: string; cookies: string[] };

/** Pages of the portal to return to: after success, and after a failure with `?error=`. */
type BackTo = { callbackURL: string; errorCallbackURL: string };

export function createProviderSignIn(
  settings: Config['signIn'],
  load: () => Promise<Auth>,
): ProviderSignIn {
  const providers = providersOf(settings);

  async function loadWith(provider: string): Promise<Auth> {
    if (!providers.some(({ id }) => id === provider)) throw new ServiceError('not_found');
    return load();
  }

  return {
    providers,
    async withProvider(provider, back, caller) {
      const { api } = await loadWith(provider);
      return leaving(api.signInSocial(redirectRequest(provider, back, caller)));
    },
    async linkProvider(provider, back, caller) {
      const { api } = await loadWith(provider);
      return leaving(api.linkSocialAccount(redirectRequest(provider, back, caller)));
    },
    async callback(url, caller) {
      const auth = await load();
      const request = new Request(url, { headers: headersOf(caller) });
      return auth.handler(request).catch((error: unknown) => {
        if (typeof (error as { status?: unknown }).status === 'string') return null;
        return throwWithoutDetails(error);
      });
    },
  };
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

function providersOf({ github, discord, oidc }: Config['signIn']): ProviderSignIn['providers'] {
  return [
    ...(github ? [{ id: 'github', name: 'GitHub' }] : []),
    ...(discord ? [{ id: 'discord', name: 'Discord' }] : []),
    ...(oidc ? [{ id: 'oidc', name: oidc.name }] : []),
  ];
}
