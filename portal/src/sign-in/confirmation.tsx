import { Alert, Stack, Text } from '@mantine/core';
import { SendAgain } from './send-again.tsx';
import { whereLinksGo } from './where-links-go.ts';

/** For somebody who knows their password, and has not shown yet that the address is theirs. */
export function Confirmation({ email }: { email: string }) {
  return (
    <Alert color="orange" variant="outline" title="Your address is not confirmed yet" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">Open the link that {whereLinksGo(email)}, and sign in again then.</Text>
        <SendAgain email={email} />
      </Stack>
    </Alert>
  );
}
