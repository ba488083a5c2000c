import { Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';
import { Problem } from '../ui/problem.tsx';
import { goToProvider } from './go-to-provider.ts';
import { ProviderButton } from './provider-button.tsx';

export const { providers } = pageData.signInOptions;

/** Sign-in with a provider. The first time creates an account. */
export function Providers({ next }: { next: string }) {
  const leaving = useMutation({ mutationFn: (id: string) => goToProvider(id, next) });
  // The page stays for a moment after the provider's address has come.
  const isLeaving = leaving.isPending || leaving.isSuccess;
  return (
    <Stack gap="xs">
      {providers.map(({ id, name }) => (
        <ProviderButton
          key={id}
          busy={isLeaving && leaving.variables === id}
          onClick={() => leaving.mutate(id)}
        >
          Continue with {name}
        </ProviderButton>
      ))}
      {leaving.isError && <Problem error={leaving.error} />}
    </Stack>
  );
}
