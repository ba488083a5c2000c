/** What happened, newest first: which webhooks of an app got each event, which did not, and why. */
import { Button, Group, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { pastEvents, webhooks as webhooksOperation } from '../api/operations.ts';
import type { AppEvent, Webhook } from '../api/types.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { DeliveryStatus } from '../deliveries/delivery-status.tsx';
import { Empty } from '../ui/empty.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { Time } from '../ui/time.tsx';
import { nameInList } from '../webhooks/describe-webhook.ts';

/** The polling interval of the newest events while the page is visible. */
const refreshMs = 10_000;

export function AppEventsPage() {
  return (
    <AppFrame
      title="Events"
      lead="What happened, newest first, and what became of it at each webhook. Opt-in events are only in the deliveries."
    >
      {({ id }) => <Events appId={id} />}
    </AppFrame>
  );
}

function Events({ appId }: { appId: string }) {
  const [query, setQuery] = useSearchParams();
  const before = query.get('before');
  const go = (to: { before?: string }) => {
    setQuery(to);
    moveFocus();
  };
  const list = useQuery({
    ...pastEvents(appId, before),
    refetchInterval: before === null && refreshMs,
  });
  const newest = before !== null && (
    <Button variant="default" onClick={() => go({})}>
      Newest
    </Button>
  );
  const hooks = useQuery(webhooksOperation(appId)).data?.entries ?? [];
  return (
    <Loaded query={list} reset={{ label: 'Newest', run: () => go({}) }}>
      {({ data, pagination: { hasMore, nextCursor } }) =>
        data.length === 0 ? (
          <Empty title={before === null ? 'No events yet' : 'No earlier events'} action={newest}>
            Events that this app can receive appear here, also before it has a webhook.{' '}
            <PageLink to={`/events?app=${appId}`}>See which those are</PageLink>
          </Empty>
        ) : (
          <Section title={before === null ? 'The newest events' : 'Earlier events'}>
            <EventTable appId={appId} events={data} hooks={hooks} />
            <Group>
              {newest}
              {hasMore && (
                <Button variant="default" onClick={() => go({ before: nextCursor ?? '' })}>
                  Earlier
                </Button>
              )}
            </Group>
          </Section>
        )
      }
    </Loaded>
  );
}

const columns = [{ title: 'Event' }, { title: 'Webhooks' }];

type Props = { appId: string; hooks: Webhook[] };

function EventTable({ events, ...props }: Props & { events: AppEvent[] }) {
  return (
    <Table verticalSpacing={8}>
      <TableHead columns={columns} />
      <Table.Tbody>
        {events.map(({ id, event, createdAt, subject, webhooks }) => (
          <Table.Tr key={id}>
            <Table.Td style={{ verticalAlign: 'top' }}>
              <Text size="sm">{event}</Text>
              {subject && (
                <Note size="xs" title={subject.slug}>
                  {subject.name}
                </Note>
              )}
              <Note size="xs">
                <Time at={createdAt} />
              </Note>
            </Table.Td>
            <Table.Td>
              {webhooks.length === 0 && <Note>The app has no webhooks.</Note>}
              <ul className="plain-list">
                {webhooks.map((outcome) => (
                  <Outcome key={outcome.webhookId} eventId={id} outcome={outcome} {...props} />
                ))}
              </ul>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

type OutcomeProps = Props & { eventId: string; outcome: AppEvent['webhooks'][number] };

/** Leads to the delivery, or to the explanation why there is none. */
function Outcome({ appId, hooks, eventId, outcome }: OutcomeProps) {
  const { webhookId, result, message, delivery } = outcome;
  const webhook = hooks.find(({ id }) => id === webhookId);
  const page = `/apps/${appId}/webhooks/${webhookId}`;
  return (
    <li>
      <Text size="sm">
        {webhook ? nameInList(webhook) : 'Webhook'}:{' '}
        {delivery ? (
          <PageLink to={`${page}/deliveries/${delivery.id}`}>
            <DeliveryStatus status={delivery.status} />
          </PageLink>
        ) : (
          <PageLink to={`${page}/explain?id=${eventId}`}>
            {result === 'not_sent' ? 'Not sent' : 'No delivery'}
          </PageLink>
        )}
      </Text>
      {delivery?.status !== 'succeeded' && <Note size="xs">{message}</Note>}
    </li>
  );
}
