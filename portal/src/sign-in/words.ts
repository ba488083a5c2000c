/** What better-auth says by a code, in an answer or behind `?error=`, in words for whoever reads it. */
const words: Record<string, string> = {
  INVALID_EMAIL_OR_PASSWORD: 'The address or the password is wrong.',
  EMAIL_NOT_VERIFIED: 'The address is not confirmed yet.',
  INVALID_EMAIL: 'This is not an address that can be used.',
  INVALID_PASSWORD: 'The current password is wrong.',
  CREDENTIAL_ACCOUNT_NOT_FOUND: 'This account has no password.',
  INVALID_TOKEN: 'The link was used already, or it was cut off on the way.',
  TOKEN_EXPIRED: 'The link has run out: it works for an hour.',
  USER_NOT_FOUND: 'There is no account any more that the link belongs to.',
  SESSION_NOT_FRESH: 'You signed in more than a day ago. Sign in again to see and change this.',
  FAILED_TO_UNLINK_LAST_ACCOUNT: 'This is the only way to sign in that you have left.',
  ACCOUNT_NOT_FOUND: 'This way to sign in is not linked any more.',
  PROVIDER_NOT_FOUND: 'This service does not work with this provider any more.',
  account_not_linked:
    'There is an account with your address already. Sign in to it as you did before; then link this way to sign in, under Account.',
  account_already_linked_to_different_user:
    'Another account here is linked to it. Whoever has that account would have to unlink it first.',
  access_denied: 'You did not agree to it, or the provider did not.',
  state_mismatch: 'This took longer than ten minutes, or began in another window. Start again.',
  email_not_found: 'The provider tells neither an address nor a name of yours.',
  unable_to_link_account: 'It could not be linked. Sign in again and try once more.',
};

/** The same happens by several codes. */
const sameAs: Record<string, string> = {
  state_not_found: 'state_mismatch',
  state_invalid: 'state_mismatch',
  please_restart_the_process: 'state_mismatch',
  oauth_provider_not_found: 'PROVIDER_NOT_FOUND',
};

export function wordsOf(code: string): string | null {
  return words[sameAs[code] ?? code] ?? null;
}

/** For what stands in an address, where anybody may have written it: a code that is not known is only named. */
export function wordsOfAddress(code: string): string {
  const known = wordsOf(code);
  if (known !== null) return known;
  const named = /^[\w-]{1,64}$/.test(code) ? ` (${code})` : '';
  return `Something went wrong on the way${named}. Try again, or in another way.`;
}
