import { Button, Group, Paper, Text } from '@mantine/core';
import { useParams } from 'react-router';
import { redeliverSeveral } from '../api/operations.ts';
import type { Redelivery } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { formatCount } from '../ui/format-count.ts';
import { RotateCw } from '../ui/icons.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Selection } from './use-selection.ts';

type Props = {
  selection: Selection;
  /** Focuses the list, because the buttons are gone. */
  focus: () => void;
};

/** Redelivers the selected deliveries, and says which could not be. */
export function RedeliverSeveral({ selection: { ids, remove, clear }, focus }: Props) {
  const { appId = '' } = useParams();
  const write = useWrite(() => redeliverSeveral(appId, ids), appChanges, {
    done: (results) => {
      remove(results.map(({ deliveryId }) => deliveryId));
      focus();
    },
  });
  return (
    <>
      {ids.length > 0 && (
        <Paper withBorder p="xs">
          <Group gap="sm">
            <Text size="sm">{ids.length.toLocaleString()} selected</Text>
            <BusyButton
              size="xs"
              leftSection={<RotateCw size={14} aria-hidden />}
              busy={write.isPending}
              onClick={() => write.mutate(undefined)}
            >
              Redeliver {ids.length.toLocaleString()}
            </BusyButton>
            <Button
              size="xs"
              variant="subtle"
              onClick={() => {
                clear();
                focus();
              }}
            >
              Clear selection
            </Button>
          </Group>
        </Paper>
      )}
      {ids.length > 0 && write.isError && <Problem error={write.error} />}
      <Text size="sm" role="status">
        {write.data && describeResults(write.data)}
      </Text>
    </>
  );
}

function describeResults(results: Redelivery[]): string {
  const counts = new Map<string, number>();
  for (const { redelivered, reason } of results)
    if (!redelivered) counts.set(reason ?? '', (counts.get(reason ?? '') ?? 0) + 1);
  const sent = results.filter(({ redelivered }) => redelivered).length;
  return [
    `${formatCount(sent, 'delivery')} ${sent === 1 ? 'is' : 'are'} being sent again.`,
    ...[...counts].map(([reason, count]) => `${count.toLocaleString()} not sent: ${reason}`),
  ].join(' ');
}
