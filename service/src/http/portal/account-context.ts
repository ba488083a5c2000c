/** The context of the operations on the user's own account. */
import { ServiceError } from '../../errors.ts';
import type { Caller } from '../../sign-in/caller.ts';
import type { SignedIn } from '../../sign-in/sign-in.ts';
import { operationFor } from '../operations.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import type { PortalRouteDependencies } from './surface.ts';

export type AccountContext = Pick<PortalRouteDependencies, 'database'> &
  Pick<PortalRouteDependencies['signIn'], 'accounts' | 'linkProvider' | 'links'> & {
    limits: SignInLimits;
    limitPasswordChanges: (userId: string) => void;
    signedIn: SignedIn;
    account: { id: string; email: string; sessionId: string };
    caller: Caller;
  };

export const operation = operationFor<AccountContext>();

/** Adding or removing a way to sign in, and changing the address, needs a sign-in within this time. */
const freshMs = 24 * 3_600_000;

/** Throws `forbidden`, with the reason for the pages. */
export function requireFreshSession({ signedInAt }: SignedIn): void {
  if (Date.now() - signedInAt.getTime() < freshMs) return;
  throw new ServiceError('forbidden', 'You signed in more than a day ago; sign in again first.', {
    details: { reason: 'sign_in_again' },
  });
}
