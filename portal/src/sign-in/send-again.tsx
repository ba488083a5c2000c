import { Box, Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Problem } from '../shown/problem.tsx';
import { resendConfirmation } from './authenticate.ts';

/** Sends the link again that confirms an address. */
export function SendAgain({ email }: { email: string }) {
  const sending = useMutation({ mutationFn: () => resendConfirmation(email) });
  return (
    <Stack gap={0} align="flex-start">
      <Button
        size="xs"
        variant="default"
        loading={sending.isPending}
        onClick={() => sending.mutate()}
      >
        Send the link again
      </Button>
      <Text size="sm" role="status" mt={sending.isSuccess ? 'xs' : 0}>
        {sending.isSuccess && 'It is on its way, unless the address is confirmed already.'}
      </Text>
      {sending.isError && (
        <Box mt="xs">
          <Problem error={sending.error} />
        </Box>
      )}
    </Stack>
  );
}
