/** Leaves for a provider, which sends the browser back to a page of the portal; with `?error=` if it failed. */
import { addAccountMethod, signInWithProvider } from '../api/operations.ts';
import { pagesPath } from '../page-data.ts';
import { pageBefore } from './next-page.ts';

/** Signs in. The sign-in page continues to `next`. */
export async function goToProvider(provider: string, next: string): Promise<void> {
  const callbackURL = addressOf(pageBefore(next, '/sign-in'));
  const { url } = await signInWithProvider({
    provider,
    callbackURL,
    errorCallbackURL: callbackURL,
  });
  window.location.assign(url);
}

/** Adds the provider to the account of whoever is signed in. */
export async function addProvider(provider: string): Promise<void> {
  const { url } = await addAccountMethod({
    provider,
    callbackURL: addressOf(`/account?added=${encodeURIComponent(provider)}`),
    errorCallbackURL: addressOf('/account'),
  });
  window.location.assign(url);
}

function addressOf(page: string): string {
  return `${pagesPath}${page}`;
}
