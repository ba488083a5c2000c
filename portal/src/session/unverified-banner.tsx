import { Alert, Stack, Text } from '@mantine/core';
import { SendAgain } from '../sign-in/send-again.tsx';
import { useSession } from './use-session.ts';

/** Whose address is not proven owns nothing: why, and what to do. */
export function UnverifiedBanner() {
  const { data: session } = useSession();
  if (!session || session.user.verified) return null;
  const { email } = session.user;
  return (
    <Alert
      color="orange"
      variant="outline"
      title="Your address is not confirmed"
      mb="lg"
      role="status"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          Until it is, you can look around but own no apps. Open the link that was sent to {email}.
        </Text>
        <SendAgain email={email} />
      </Stack>
    </Alert>
  );
}
