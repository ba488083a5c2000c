import { Text } from '@mantine/core';
import { DeferredFold } from '../ui/deferred-fold.tsx';

/** Sample receivers that check signatures. They are long and rarely needed, so they load on demand. */
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
