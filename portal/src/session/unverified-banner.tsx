import { Alert, Text } from '@mantine/core';
import { useSession } from './use-session.ts';

/** Whoever comes by a provider that does not vouch for their address owns nothing: why, and what to do. */
export function UnverifiedBanner() {
  const { data: session } = useSession();
  if (!session || session.user.verified) return null;
  return (
    <Alert
      color="orange"
      variant="outline"
      title="Your address is not confirmed"
      mb="lg"
      role="status"
    >
      <Text size="sm">
        Until it is, you can look around but own no apps. Open the link in the mail that was sent to{' '}
        {session.user.email}.
      </Text>
    </Alert>
  );
}
