import { Divider, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Problem } from '../ui/problem.tsx';
import { goToProvider } from './go-to-provider.ts';

export const { providers } = pageData.signInOptions;

/** Sign-in with a provider, above the form for a password. The first time creates an account. */
export function SignInWithProvider({ next }: { next: string }) {
  const leaving = useMutation({ mutationFn: (id: string) => goToProvider(id, next) });
  if (providers.length === 0) return null;
  return (
    <>
      <Stack gap="xs">
        <ProviderButtons offered={providers} verb="Continue with" leaving={leaving} />
        {leaving.isError && <Problem error={leaving.error} />}
      </Stack>
      <Divider label="or with a password" />
    </>
  );
}

type Leaving = {
  isPending: boolean;
  isSuccess: boolean;
  variables: string | undefined;
  mutate: (id: string) => void;
};

type Props = { offered: typeof providers; verb: string; leaving: Leaving };

export function ProviderButtons({ offered, verb, leaving }: Props) {
  // The page stays for a moment after the provider's address has come.
  const isLeaving = leaving.isPending || leaving.isSuccess;
  return offered.map(({ id, name }) => (
    <BusyButton
      key={id}
      variant="default"
      // The operator chooses the name, of any length: a long one wraps.
      h="auto"
      mih={36}
      py={6}
      styles={{ label: { whiteSpace: 'normal' } }}
      busy={isLeaving && leaving.variables === id}
      onClick={() => leaving.mutate(id)}
    >
      {verb} {name}
    </BusyButton>
  ));
}
