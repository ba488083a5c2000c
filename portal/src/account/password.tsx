import { Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { accountMethods, requestPasswordLink } from '../api/operations.ts';
import { pageData } from '../page-data.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { describeSentLink } from '../sign-in/sent-link.ts';
import { ChangePassword } from './change-password.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

export function Password({ email }: { email: string }) {
  const query = useQuery(accountMethods());
  return (
    <Section title="Password">
      <Loaded query={query}>
        {({ entries }) =>
          entries.some(({ provider }) => provider === 'credential') ? (
            <ChangePassword />
          ) : (
            <NoPassword email={email} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** A link sets the first password, too. */
function NoPassword({ email }: { email: string }) {
  const requesting = useMutation({ mutationFn: () => requestPasswordLink(email) });
  const canRequest = pageData.signInOptions.password.links !== null && !email.endsWith('.invalid');
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">This account has no password.</Text>
      {canRequest && (
        <BusyButton
          variant="default"
          busy={requesting.isPending}
          onClick={() => requesting.mutate()}
        >
          Send a link to set one
        </BusyButton>
      )}
      <Text size="sm" role="status">
        {requesting.isSuccess && describeSentLink(email).message}
      </Text>
      {requesting.isError && <Problem error={requesting.error} />}
    </Stack>
  );
}
