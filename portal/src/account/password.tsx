import { Button, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';
import { Loaded } from '../shown/loaded.tsx';
import { Problem } from '../shown/problem.tsx';
import { Section } from '../shown/section.tsx';
import { requestPasswordReset } from '../sign-in/authenticate.ts';
import { whereLinksGo } from '../sign-in/where-links-go.ts';
import { methods } from './account.ts';
import { ChangePassword } from './change-password.tsx';

export function Password({ email }: { email: string }) {
  const query = useQuery(methods());
  return (
    <Section title="Password">
      <Loaded query={query}>
        {(found) =>
          found.some(({ providerId }) => providerId === 'credential') ? (
            <ChangePassword />
          ) : (
            <NoPassword email={email} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** Whoever came by a provider gets one as those do who forgot theirs. */
function NoPassword({ email }: { email: string }) {
  const asking = useMutation({ mutationFn: () => requestPasswordReset(email) });
  const possible = pageData.signInOptions.password.links !== null && !email.endsWith('.invalid');
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">You have none: you sign in another way.</Text>
      {possible && (
        <Button variant="default" loading={asking.isPending} onClick={() => asking.mutate()}>
          Send a link to choose one
        </Button>
      )}
      <Text size="sm" role="status">
        {asking.isSuccess && `The link ${whereLinksGo(email)}. It works for an hour.`}
      </Text>
      {asking.isError && <Problem error={asking.error} />}
    </Stack>
  );
}
