import { Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { passkeyOptions, signInWithPasskey } from '../api/operations.ts';
import { getPasskey } from '../security/passkey-device.ts';
import { useRefreshSession } from '../session/use-session.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Problem } from '../ui/problem.tsx';

/** Signs in with a passkey alone. The page continues when the session has changed. */
export function PasskeyButton({ children }: { children: ReactNode }) {
  const refresh = useRefreshSession();
  const write = useMutation({
    mutationFn: async () => {
      await signInWithPasskey(await getPasskey(await passkeyOptions()));
      await refresh();
    },
  });
  return (
    <Stack gap="xs">
      <BusyButton variant="default" busy={write.isPending} onClick={() => write.mutate()}>
        {children}
      </BusyButton>
      {write.isError && <Problem error={write.error} />}
    </Stack>
  );
}
