/** A delivery: what became of it, and each attempt with its request and response. On its page, and in a panel. */
import { Group, SegmentedControl, Stack, Text, type TitleOrder } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { errorLabels } from '../../../service/src/contract/webhook-in-words.ts';
import {
  delivery as deliveryOperation,
  webhook as webhookOperation,
  type DeliveryId,
} from '../api/operations.ts';
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { CopiedId } from '../ui/copied-id.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { SmallFold } from '../ui/fold.tsx';
import { formatCount } from '../ui/format-count.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { DeliveryStatus } from './delivery-status.tsx';
import { Exchange } from './exchange.tsx';
import { Redeliver } from './redeliver.tsx';
import { isMessage } from './request-headers.ts';

const pendingEveryMs = 1_500;

/** Polls while the delivery is pending. */
export function useDelivery(id: DeliveryId) {
  return useQuery({
    ...deliveryOperation(id),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? pendingEveryMs : false),
  });
}

type Props = { id: DeliveryId; delivery: DeliveryDetail; order: TitleOrder };

export function DeliveryView({ id, delivery, order }: Props) {
  const webhook = useQuery(webhookOperation(id)).data;
  const mayChange = can(useApp(), 'changeWebhooks');
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <div role="status">
          <DeliveryStatus status={delivery.status} />
        </div>
        <Note>
          {describeStatus(delivery)} Queued <Time at={delivery.createdAt} />.
        </Note>
        {mayChange && <Redeliver id={id} delivery={delivery} webhook={webhook} />}
      </Group>
      <AttemptsAndExchange
        delivery={delivery}
        url={mayChange ? webhook?.url : undefined}
        order={order}
      />
      <SmallFold title="Times and ids">
        <DescriptionList entries={factsOf(delivery)} layout="grid" />
      </SmallFold>
    </Stack>
  );
}

type ShownProps = Omit<Props, 'id'> & { url: string | undefined };

/** The last attempt, until somebody chooses another one. */
function AttemptsAndExchange({ delivery, url, order }: ShownProps) {
  const { attempts } = delivery;
  const [chosen, choose] = useState<number | null>(null);
  const attempt = attempts.find(({ number }) => number === chosen) ?? attempts.at(-1);
  return (
    <>
      {attempts.length > 1 && attempt && (
        <SegmentedControl
          aria-label="Attempt"
          size="xs"
          style={{ alignSelf: 'flex-start', maxWidth: '100%', overflowX: 'auto' }}
          value={String(attempt.number)}
          onChange={(number) => choose(Number(number))}
          data={attempts.map((each) => ({
            value: String(each.number),
            label: `${each.number}: ${shortResult(each)}`,
          }))}
        />
      )}
      {attempt && (
        <Text size="sm">
          <Text span inherit fw={600}>
            {describeAttempt(attempt, isMessage(delivery)).title}
          </Text>
          , {causeOf(attempt, delivery)}, <Time at={attempt.startedAt} exact />, took{' '}
          {formatDuration(attempt.durationMs)}
        </Text>
      )}
      <Exchange delivery={delivery} attempt={attempt} url={url} order={order} />
    </>
  );
}

function shortResult({ statusCode, error }: Attempt): string {
  return error === null ? String(statusCode ?? 'no response') : errorLabels[error].toLowerCase();
}

const triggers: Record<Attempt['trigger'], string> = {
  event: 'triggered by the event',
  test: 'as a test',
  redelivery: 'sent again',
};

function causeOf({ trigger }: Attempt, { event }: DeliveryDetail): string {
  return event === 'webhook.probe' ? 'as a probe' : triggers[trigger];
}

function factsOf({ id, event, eventId, createdAt, completedAt }: DeliveryDetail): Term[] {
  return [
    ['Queued', <Time key="queued" at={createdAt} exact />],
    ...(completedAt ? [['Ended', <Time key="ended" at={completedAt} exact />] satisfies Term] : []),
    [
      'Event',
      <PageLink key="event" to={`/events#${event}`}>
        {event}
      </PageLink>,
    ],
    ['Delivery id', <CopiedId key="delivery" id={id} thing="delivery" />],
    ['Event id', <CopiedId key="of" id={eventId} thing="event" />],
  ];
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
