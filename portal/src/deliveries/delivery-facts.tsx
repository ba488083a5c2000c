import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import type { DeliveryDetail } from '../api/types.ts';
import { CopiedId } from '../ui/copied-id.tsx';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { DeliveryStatus } from './delivery-status.tsx';

export function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  const { id, event, eventId, createdAt, completedAt } = delivery;
  const entries: Term[] = [
    ['Status', <Status key="status" delivery={delivery} />],
    [
      'Event',
      <PageLink key="event" to={`/events#${event}`}>
        {event}
      </PageLink>,
    ],
    ['Queued', <When key="queued" at={createdAt} />],
    ['Delivery id', <CopiedId key="delivery" id={id} thing="delivery" />],
    ['Event id', <CopiedId key="of" id={eventId} thing="event" />],
  ];
  if (completedAt) entries.splice(3, 0, ['Ended', <When key="ended" at={completedAt} />]);
  return <DescriptionList entries={entries} layout="grid" />;
}

function Status({ delivery }: { delivery: DeliveryDetail }) {
  return (
    <Stack gap={2}>
      <div role="status">
        <DeliveryStatus status={delivery.status} />
      </div>
      <Note>{describeStatus(delivery)}</Note>
    </Stack>
  );
}

function When({ at }: { at: string }) {
  return (
    <>
      <Time at={at} exact /> (<Time at={at} />)
    </>
  );
}

function describeStatus({ status, attemptCount, nextAttemptAt }: DeliveryDetail): ReactNode {
  const attempts = formatCount(attemptCount, 'attempt');
  if (status === 'succeeded') return `Accepted after ${attempts}.`;
  if (status === 'failed') return `All attempts failed: no 2xx response after ${attempts}.`;
  if (status === 'cancelled')
    return 'The webhook was deactivated or deleted, or the app can no longer get this event.';
  const made = attemptCount === 0 ? 'Not tried yet' : `${attempts} so far`;
  if (nextAttemptAt === null) return `${made}; one is in progress.`;
  return (
    <>
      {made}; the next is due <Time at={nextAttemptAt} past="now" />.
    </>
  );
}
