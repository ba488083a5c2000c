/** better-auth's codes behind `?error=`, after a provider has sent the browser back. */
const messages: Record<string, string> = {
  access_denied: 'You or the provider cancelled it.',
  account_deleted: 'Your account was deleted while you signed in. Sign in again to get a new one.',
  account_not_linked:
    'There is already an account with your email address. Sign in to it as you did before, then add this way to sign in under Account.',
  account_already_linked_to_different_user:
    'Another account already uses it. Remove it from that account first.',
  email_not_found: 'The provider returned neither an email address nor a name.',
  oauth_provider_not_found: 'This service no longer works with this provider.',
  sign_up_refused: 'No account can be created for your address. Ask the operator of this service.',
  state_mismatch: 'It took too long, or it was started in another window. Try again.',
  unable_to_get_user_info:
    'The provider did not say who you are. Try again, or sign in another way.',
  unable_to_link_account: 'It could not be added. Sign in again and try once more.',
  unavailable:
    'This service could not create your account right now. Nothing is wrong with your sign-in: try again in a minute.',
};

/** Codes for the same failure. */
const sameAs: Record<string, string> = {
  state_not_found: 'state_mismatch',
  state_invalid: 'state_mismatch',
};

/** Anybody can craft an address, so an unknown code is only quoted. */
export function describeProviderError(code: string): string {
  const known = messages[sameAs[code] ?? code];
  if (known !== undefined) return known;
  const quoted = /^[\w-]{1,64}$/.test(code) ? ` (${code})` : '';
  return `Something went wrong${quoted}. Try again, or sign in another way.`;
}
