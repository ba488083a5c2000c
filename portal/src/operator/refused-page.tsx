import { Code, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { changeRefused, refused } from '../api/operations.ts';
import type { RefusedRow } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Page } from '../layout/page.tsx';
import { ConfirmAbout } from '../ui/confirm.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Named } from './choices.tsx';
import { useMayChange } from './suspend.tsx';
import { EntryTable } from './table-page.tsx';

const title = 'Set aside';

export function RefusedPage() {
  const mayChange = useMayChange();
  return (
    <Page
      title={title}
      lead="Events that were rejected, and rows that the worker could not process and has set aside, so that nothing waits for them. Mend the cause, then retry."
    >
      <Loaded query={useQuery(refused())}>
        {({ data, pagination: { hasMore } }) =>
          data.length === 0 ? (
            <Text role="status">Nothing was rejected or set aside.</Text>
          ) : (
            <>
              {mayChange && data.length > 1 && <Actions ids={data.map(({ id }) => id)} />}
              <EntryTable
                title={title}
                entries={data}
                columns={[
                  'Event',
                  'Stage',
                  'About',
                  'Reason',
                  'When',
                  ...(mayChange ? ['Change'] : []),
                ]}
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
              {hasMore && (
                <Note>
                  There are more than these {data.length}. <Code>orgdir events retry --all</Code>{' '}
                  retries all of them.
                </Note>
              )}
            </>
          )
        }
      </Loaded>
    </Page>
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
    text: 'They are deleted for good. Dropped events are never sent, and dropped deliveries only by a replay of their webhook.',
  },
} as const;
type Verb = keyof typeof verbs;

function Actions({ ids }: { ids: string[] }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Change verb="retry" ids={ids} />
      <Change verb="drop" ids={ids} />
    </Group>
  );
}

function Change({ verb, ids }: { verb: Verb; ids: string[] }) {
  const { action, past, color, text } = verbs[verb];
  const write = useWrite((chosen: string[]) => changeRefused(verb, chosen), ['/operator'], {
    done: ({ count }) => {
      toastSuccess(`${formatCount(count, 'row')} ${past}.`);
      moveFocusAfterWait();
    },
  });
  return (
    <ConfirmAbout
      button={{
        children: ids.length === 1 ? action : `${action} ${nameRows(ids)}`,
        size: 'xs',
        ...(ids.length === 1 && { 'aria-label': `${action} ${ids[0]}` }),
      }}
      about={ids}
      ask={(chosen) => ({
        title: `${action} ${nameRows(chosen)}?`,
        action,
        color,
        children: <Text size="sm">{text}</Text>,
      })}
      write={write}
    />
  );
}

function nameRows(ids: string[]): string {
  return ids.length === 1 ? 'this row' : `these ${ids.length} rows`;
}
