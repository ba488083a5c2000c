import { Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';
import { Problem } from '../shown/problem.tsx';
import { signInWith } from './authenticate.ts';
import { ProviderButton } from './provider-button.tsx';

export const { providers } = pageData.signInOptions;

/** Where else one can come from. Who comes for the first time has an account from then on. */
export function Providers({ next }: { next: string }) {
  const leaving = useMutation({ mutationFn: (id: string) => signInWith(id, next) });
  // Until the browser is away, which it is not yet when the address is known.
  const isLeaving = leaving.isPending || leaving.isSuccess;
  return (
    <Stack gap="xs">
      {providers.map(({ id, name }) => (
        <ProviderButton
          key={id}
          loading={isLeaving && leaving.variables === id}
          onClick={() => leaving.mutate(id)}
        >
          Continue with {name}
        </ProviderButton>
      ))}
      {leaving.isError && <Problem error={leaving.error} />}
    </Stack>
  );
}
