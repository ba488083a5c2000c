import { Alert, Box, Button, Loader, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, type ComponentType } from 'react';
import { importAgain } from './import-again.ts';
import { moveFocus } from './move-focus.ts';

/** `name` identifies the script in the cache. */
export type Script<Part extends string> = {
  name: string;
  load: () => Promise<Record<Part, ComponentType>>;
};

/** Loads a script when it is rendered, and renders one of its components. */
export function Deferred<Part extends string>({
  script,
  part,
}: {
  script: Script<Part>;
  part: NoInfer<Part>;
}) {
  const box = useRef<HTMLDivElement>(null);
  const loaded = useQuery({
    queryKey: ['script', script.name],
    queryFn: () => importAgain(script.load),
    staleTime: Infinity,
    gcTime: Infinity,
    retry: false,
    // Nothing else would load it again.
    refetchOnReconnect: true,
  });
  const Content: ComponentType | undefined = loaded.data?.[part];

  function retry(): void {
    // The button disappears, so the focus moves to the box.
    moveFocus(box.current);
    void loaded.refetch();
  }

  return (
    <Box ref={box} tabIndex={-1} style={{ outline: 'none' }}>
      {Content ? (
        <Content />
      ) : loaded.isError && !loaded.isFetching ? (
        <NotLoaded retry={retry} />
      ) : (
        <Loader size="sm" aria-label="Loading" />
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
