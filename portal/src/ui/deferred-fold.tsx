import { Alert, Box, Button, Loader, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState, type ComponentType, type ReactNode } from 'react';
import { Fold } from './fold.tsx';
import { importAgain } from './import-again.ts';
import { moveFocus } from './move-focus.ts';

type Deferral = { name: string; load: () => Promise<{ default: ComponentType }> };

/** A fold whose script loads when it is opened. `name` identifies the script in the cache. */
export function DeferredFold({
  name,
  load,
  ...fold
}: Deferral & { title: ReactNode; summary: ReactNode }) {
  const [wasOpened, setWasOpened] = useState(false);
  return (
    <Fold {...fold} onOpen={() => setWasOpened(true)}>
      {wasOpened && <Deferred name={name} load={load} />}
    </Fold>
  );
}

function Deferred({ name, load }: Deferral) {
  const box = useRef<HTMLDivElement>(null);
  const script = useQuery({
    queryKey: ['script', name],
    queryFn: () => importAgain(load),
    staleTime: Infinity,
    retry: false,
  });
  const Content = script.data?.default;

  function retry(): void {
    // The button disappears, so the focus moves to the box.
    moveFocus(box.current);
    void script.refetch();
  }

  return (
    <Box ref={box} tabIndex={-1} style={{ outline: 'none' }}>
      {Content ? (
        <Content />
      ) : script.isError && !script.isFetching ? (
        <NotLoaded retry={retry} />
      ) : (
        <Loader size="sm" role="status" aria-label="Loading" />
      )}
    </Box>
  );
}

function NotLoaded({ retry }: { retry: () => void }) {
  return (
    <Alert color="red" title="This part could not be loaded" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          Check your connection and try again. If that doesn't help, reload the page: there may be a
          newer version.
        </Text>
        <Button size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      </Stack>
    </Alert>
  );
}
