import { Alert, Button, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient, type Query } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { isUnreachable } from '../api/call.ts';
import { readSession } from '../api/operations.ts';
import { moveFocus, useMoveFocusAfter } from '../ui/move-focus.ts';

/** While the tab is visible. */
const everyMs = 5_000;
const probeKey = ['connection'];

/** Shown as soon as a read gets no response. Looks for the service, and reads again what failed when it is back. */
export function ConnectionBanner() {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const failed = { type: 'active', predicate: isFailed } as const;
  const isAway = useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () => cache.findAll(failed).length > 0,
  );
  const probe = useQuery({
    queryKey: probeKey,
    queryFn: async ({ signal }) => {
      await readSession(signal);
      await client.refetchQueries(failed);
      return true;
    },
    enabled: isAway,
    gcTime: 0,
    refetchInterval: everyMs,
    retry: false,
  });
  if (!isAway) return null;
  return (
    <Alert color="red" title="The service does not respond" mb="lg" role="status">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          Check your connection. What you see may be old or missing. This page asks again every{' '}
          {everyMs / 1_000} seconds, and goes on by itself.
        </Text>
        <TryAgain run={() => void probe.refetch()} />
      </Stack>
    </Alert>
  );
}

function TryAgain({ run }: { run: () => void }) {
  const button = useMoveFocusAfter(moveFocus);
  return (
    <Button ref={button} size="xs" variant="default" onClick={run}>
      Try again
    </Button>
  );
}

function isFailed({ queryKey, state }: Query): boolean {
  return queryKey[0] !== probeKey[0] && isUnreachable(state.error);
}
