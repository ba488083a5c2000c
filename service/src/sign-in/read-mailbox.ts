import { normaliseEmail } from '../access/email.ts';
import { invalid } from '../errors.ts';
import { isProviderIdentity } from './provider-identity.ts';

/** Zod's pattern, by which better-auth checks addresses at sign-in: an account with any other could not sign in. */
const mailbox = /^(?!\.)(?!.*\.\.)([a-z0-9_'+\-.]*)[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/;

/** Throws `validation_failed`, also for the name that a provider gives somebody, which has no mailbox. */
export function readMailbox(given: string): string {
  const email = normaliseEmail(given, 'body.email');
  if (mailbox.test(email) && !isProviderIdentity(email)) return email;
  throw invalid({
    path: 'body.email',
    message: 'must be an address that receives mail, such as ada@example.org',
  });
}
