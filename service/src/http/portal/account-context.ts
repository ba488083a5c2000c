/** The context of the operations on the user's own account. */
import type { Caller } from '../../sign-in/caller.ts';
import type { SignedIn } from '../../sign-in/sign-in.ts';
import { operationFor } from '../operations.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import type { PortalRouteDependencies } from './surface.ts';

export type AccountContext = Pick<PortalRouteDependencies, 'database' | 'search' | 'appLimits'> &
  Pick<PortalRouteDependencies['signIn'], 'accounts' | 'linkProvider' | 'links'> & {
    limits: SignInLimits;
    signedIn: SignedIn;
    limitPasswordChanges: (userId: string) => void;
    account: { id: string; email: string; sessionId: string };
    caller: Caller;
  };

export const operation = operationFor<AccountContext>();
