/** Signing up, in and out: what better-auth answers below /portal/api/auth. */
import { ApiError } from '@orgdir/client';
import { call } from '../api/call.ts';
import { pageData } from '../page-data.ts';
import { pageBefore } from './next-page.ts';
import { wordsOf } from './words.ts';

type Redirection = { url: string };

/** Rejects as `call` does, in words of ours. */
export async function auth<T = unknown>(below: string, body: object = {}): Promise<T> {
  try {
    return await call<T>({ method: 'POST', path: `/auth${below}`, body });
  } catch (error) {
    throw inWords(error);
  }
}

/** The address of a page of the portal, as the service may send somebody to it. */
function pageAddress(page: string): string {
  return `${pageData.basePath}/profile/developer${page}`;
}

const confirmed = () => pageAddress(pageBefore('/', '/sign-in', { confirmed: 'true' }));

export const signIn = (email: string, password: string) =>
  auth('/sign-in/email', { email, password });
export const signOut = () => auth('/sign-out');

/** A link is sent to confirm the address; it leads to the sign-in page. */
export const signUp = (account: { name: string; email: string; password: string }) =>
  auth('/sign-up/email', { ...account, callbackURL: confirmed() });

export const resendConfirmation = (email: string) =>
  auth('/send-verification-email', { email, callbackURL: confirmed() });

export const requestPasswordReset = (email: string) =>
  auth('/request-password-reset', { email, redirectTo: pageAddress('/reset-password') });

export const resetPassword = (token: string, newPassword: string) =>
  auth('/reset-password', { token, newPassword });

/** Leaves for a provider, which sends the browser back; the sign-in page then goes on to `next`. */
export async function signInWith(provider: string, next: string): Promise<void> {
  const back = pageAddress(pageBefore(next, '/sign-in'));
  await leave('/sign-in/social', provider, back, back);
}

/** Leaves for a provider, to sign in by it too from then on. */
export async function link(provider: string): Promise<void> {
  await leave(
    '/link-social',
    provider,
    pageAddress(`/account?linked=${encodeURIComponent(provider)}`),
    pageAddress('/account'),
  );
}

async function leave(
  below: string,
  provider: string,
  callbackURL: string,
  errorCallbackURL: string,
): Promise<void> {
  const body = { provider, callbackURL, errorCallbackURL, disableRedirect: true };
  const { url } = await auth<Redirection>(below, body);
  window.location.assign(url);
}

function inWords(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { code, status, details, requestId, retryAfter } = error;
  const message = wordsOf(code);
  return message === null
    ? error
    : new ApiError({ code, message, status, details, requestId, retryAfter });
}
