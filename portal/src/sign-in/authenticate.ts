/** Signing up, in and out: what better-auth answers below /portal/api/auth. */
import { call } from '../api/call.ts';
import { pageData } from '../page-data.ts';

type Redirection = { url: string };

const auth = <T = unknown>(below: string, body: object = {}) =>
  call<T>({ method: 'POST', path: `/auth${below}`, body });

/** The address of a page of the portal, as the service may send somebody to it. */
export function pageAddress(page: string): string {
  return `${pageData.basePath}/profile/developer${page}`;
}

export const signIn = (email: string, password: string) =>
  auth('/sign-in/email', { email, password });
export const signOut = () => auth('/sign-out');

/** A mail is sent to confirm the address; its link leads to the sign-in page. */
export const signUp = (account: { name: string; email: string; password: string }) =>
  auth('/sign-up/email', { ...account, callbackURL: pageAddress('/sign-in?confirmed=true') });

export const resendConfirmation = (email: string) =>
  auth('/send-verification-email', { email, callbackURL: pageAddress('/sign-in?confirmed=true') });

export const requestPasswordReset = (email: string) =>
  auth('/request-password-reset', { email, redirectTo: pageAddress('/reset-password') });

export const resetPassword = (token: string, newPassword: string) =>
  auth('/reset-password', { token, newPassword });

/** Leaves for a provider, which sends the browser back to `next`. */
export async function signInWith(provider: string, next: string): Promise<void> {
  const { url } = await auth<Redirection>('/sign-in/social', {
    provider,
    callbackURL: pageAddress(next),
    errorCallbackURL: pageAddress('/sign-in'),
    disableRedirect: true,
  });
  window.location.assign(url);
}
