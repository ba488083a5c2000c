import { Text } from '@mantine/core';
import { DeferredFold } from '../ui/deferred-fold.tsx';

/** Programs that check signatures, which are long and wanted once. */
export function Receivers() {
  return (
    <DeferredFold
      order={3}
      title="Receivers that check signatures"
      summary={
        <Text size="sm" c="dimmed">
          In TypeScript, Python, Go, PHP and shell, ready to copy.
        </Text>
      }
      name="signature snippets"
      load={() => import('./signature-snippets.tsx')}
    />
  );
}
