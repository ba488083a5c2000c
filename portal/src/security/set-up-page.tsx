import { Button, Divider, Text } from '@mantine/core';
import { useIsMutating } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { AddedFactor } from '../api/types.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { AddAuthenticator } from './add-authenticator.tsx';
import { AddPasskey } from './add-passkey.tsx';
import { RecoveryCodesOnce } from './recovery-codes-once.tsx';
import { SignOutLink } from './sign-out-link.tsx';

/** For users who must have a second factor and have none. Nothing else opens before. */
export function SetUpPage({ isNeeded, done }: { isNeeded: boolean; done: () => void }) {
  const [factor, setFactor] = useState<AddedFactor | null>(null);
  const isAdding = useIsMutating() > 0;
  const isDoneElsewhere = !isNeeded && !factor && !isAdding;
  useEffect(() => {
    if (isDoneElsewhere) done();
  }, [isDoneElsewhere]);
  if (factor)
    return (
      <SignedOutLayout title="Your second factor is set up">
        {factor.recoveryCodes ? (
          <>
            <LeaveGuard lost="recovery codes" />
            <RecoveryCodesOnce codes={factor.recoveryCodes} done={done} />
          </>
        ) : (
          <Button onClick={done}>Continue</Button>
        )}
      </SignedOutLayout>
    );
  return (
    <SignedOutLayout title="Set up a second factor" below={<SignOutLink />}>
      <Text size="sm">
        Your account needs a second factor, so that a stolen password is not enough to open it. Add
        a passkey or an authenticator app to continue.
      </Text>
      <AddPasskey added={setFactor} />
      <Divider label="or" />
      <AddAuthenticator added={setFactor} />
    </SignedOutLayout>
  );
}
