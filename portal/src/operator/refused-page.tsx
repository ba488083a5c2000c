import { Group, Text } from '@mantine/core';
import { changeRefused, refused } from '../api/operations.ts';
import type { RefusedRow } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { formatCount } from '../ui/format-count.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Named } from './choices.tsx';
import { useMayChange } from './suspend.tsx';
import { TablePage } from './table-page.tsx';

export function RefusedPage() {
  const mayChange = useMayChange();
  return (
    <TablePage
      title="Set aside"
      lead="Events that were rejected, and rows that the worker could not process and has set aside, so that nothing waits for them. Mend the cause, then retry."
      filter={mayChange && <Actions ids={null} />}
      read={() => refused()}
      columns={['Event', 'Stage', 'About', 'Reason', 'When', ...(mayChange ? ['Change'] : [])]}
      none="Nothing was rejected or set aside."
      row={(row) => ({
        key: row.id,
        cells: [
          <Named key="event" name={row.event ?? 'No event'} id={row.id} thing="row" />,
          row.stage,
          about(row),
          row.reason,
          <Time key="when" at={row.rejectedAt} />,
          mayChange && <Actions key="change" ids={[row.id]} />,
        ],
      })}
    />
  );
}

function about({ org, alliance, deliveryId, webhookId }: RefusedRow): string {
  if (org ?? alliance) return org ?? alliance ?? '';
  return deliveryId ? `Delivery ${deliveryId}` : webhookId ? `Webhook ${webhookId}` : '';
}

const verbs = {
  retry: {
    action: 'Retry',
    past: 'retried',
    color: 'blue',
    text: 'What is refused again is listed again. An attempt that could not be recorded may be made twice.',
  },
  drop: {
    action: 'Drop',
    past: 'dropped',
    color: 'red.9',
    text: 'They are deleted for good. Dropped events are never sent.',
  },
} as const;
type Verb = keyof typeof verbs;

/** `ids` null: all. */
function Actions({ ids }: { ids: string[] | null }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Change verb="retry" ids={ids} />
      <Change verb="drop" ids={ids} />
    </Group>
  );
}

function Change({ verb, ids }: { verb: Verb; ids: string[] | null }) {
  const { action, past, color, text } = verbs[verb];
  const write = useWrite(() => changeRefused(verb, ids), ['/operator'], {
    done: ({ count }) => {
      toastSuccess(`${formatCount(count, 'row')} ${past}.`);
      moveFocus();
    },
  });
  const what = ids === null ? 'all' : 'this row';
  return (
    <Confirm
      button={{
        children: ids === null ? `${action} all` : action,
        size: 'xs',
        'aria-label': ids === null ? `${action} all` : `${action} ${ids[0]}`,
      }}
      title={`${action} ${what}?`}
      action={action}
      color={color}
      write={write}
    >
      <Text size="sm">{text}</Text>
    </Confirm>
  );
}
