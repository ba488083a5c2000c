import type { PortalSession } from '../api/types.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { SignOutLink } from '../security/sign-out-link.tsx';
import { Suspension } from '../ui/suspension.tsx';

/** In the place of every page while the account is suspended. */
export function SuspendedPage({ session }: { session: PortalSession }) {
  return (
    <SignedOutLayout title="Account suspended" below={<SignOutLink />}>
      <Suspension
        what={session.user.email}
        of={session}
        effect="You cannot use the portal meanwhile."
      />
    </SignedOutLayout>
  );
}
