import { Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import type { Delivery, Explanation, ExplanationChecks } from '../api/types.ts';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { CircleCheck, CircleSlash, CircleX } from '../ui/icons.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { DeliveryStatus } from './delivery-status.tsx';

const titles: Record<Explanation['result'], string> = {
  delivered: 'Delivery found',
  not_sent: 'It was not sent to the webhook',
  waiting: 'Not processed yet',
  would_send: 'The webhook gets such an event',
  unavailable: 'Not available to this app',
  unknown: 'Unknown',
};

/** No condition is known to the app, or decided yet. */
const withoutChecks = new Set<Explanation['result']>(['unavailable', 'waiting']);

const checkLabels: Record<keyof ExplanationChecks, string> = {
  bound: 'The app was bound to the organisation or alliance',
  listed: 'The organisation was listed',
  existed: 'The webhook existed',
  active: 'The webhook was active',
  subscribed: 'The webhook was subscribed to the event',
  passed: "The webhook's filter let the event pass",
};

export function ExplanationSection({ explanation }: { explanation: Explanation }) {
  const { result, message, event, delivery, nearby } = explanation;
  const heading = useRef<HTMLHeadingElement>(null);
  // The form that had the focus starts again with the new address.
  useEffect(() => moveFocusAfterWait(heading.current), []);
  return (
    <Section title={titles[result]} headingRef={heading}>
      <Text role="status">{message}</Text>
      {(event ?? delivery) && (
        <DescriptionList
          entries={[
            ...(event ? eventTerms(event) : []),
            ...(delivery ? [deliveryTerm(delivery)] : []),
          ]}
        />
      )}
      {result === 'not_sent' && <Remedy checks={explanation.checks} />}
      {!withoutChecks.has(result) && <Checks explanation={explanation} />}
      {nearby.length > 0 && <Nearby events={nearby} />}
    </Section>
  );
}

/** Leads to what changes the answer for the next event. */
function Remedy({ checks: { bound, subscribed, passed, active } }: { checks: ExplanationChecks }) {
  const { appId, page } = useWebhookId();
  if (bound === false)
    return <PageLink to={`/apps/${appId}`}>Change the binding of the app</PageLink>;
  if (subscribed === false)
    return <PageLink to={`${page}/settings`}>Change the events of the webhook</PageLink>;
  if (passed === false)
    return <PageLink to={`${page}/settings`}>Change the filters of the webhook</PageLink>;
  return active === false && <PageLink to={`${page}/settings`}>Activate the webhook</PageLink>;
}

function eventTerms({ name, createdAt }: NonNullable<Explanation['event']>): Term[] {
  return [
    ['Event', name],
    ['Happened', <Time key="happened" at={createdAt} exact />],
  ];
}

function deliveryTerm(delivery: Delivery): Term {
  return ['Delivery', <DeliveryLink key="delivery" delivery={delivery} />];
}

function DeliveryLink({ delivery: { id, status } }: { delivery: Delivery }) {
  const { page } = useWebhookId();
  return (
    <Group gap="sm">
      <DeliveryStatus status={status} />
      <PageLink to={`${page}/deliveries/${id}`}>All attempts</PageLink>
    </Group>
  );
}

function Checks({ explanation: { checks, unknown, at } }: { explanation: Explanation }) {
  const names = Object.keys(checkLabels) as (keyof ExplanationChecks)[];
  return (
    <Stack gap="xs">
      {at !== null && (
        <Note>
          The conditions as of <Time at={at} exact />:
        </Note>
      )}
      <DescriptionList
        entries={names.map((name) => [
          checkLabels[name],
          <Condition
            key={name}
            condition={`${checks[name] ?? (unknown.some((each) => each === name) ? 'unknown' : 'inapplicable')}`}
          />,
        ])}
      />
    </Stack>
  );
}

const conditions = {
  true: { label: 'Yes', Icon: CircleCheck, color: 'var(--mantine-color-green-text)' },
  false: { label: 'No', Icon: CircleX, color: 'var(--mantine-color-red-text)' },
  unknown: { label: 'Unknown', Icon: CircleSlash, color: 'var(--mantine-color-dimmed)' },
  inapplicable: {
    label: 'Does not apply',
    Icon: CircleSlash,
    color: 'var(--mantine-color-dimmed)',
  },
} as const;

function Condition({ condition }: { condition: keyof typeof conditions }): ReactNode {
  const { label, Icon, color } = conditions[condition];
  return (
    <Group component="span" gap={6} wrap="nowrap" display="inline-flex">
      <Icon size={16} color={color} aria-hidden />
      {label}
    </Group>
  );
}

function Nearby({ events }: { events: Explanation['nearby'] }) {
  const { page } = useWebhookId();
  return (
    <Stack gap="xs">
      <Note>Such events within a minute of that time:</Note>
      <ul className="plain-list">
        {events.map(({ id, name, createdAt }) => (
          <li key={id}>
            <PageLink to={`${page}/explain?id=${id}`} size="sm">
              {name}, <Time at={createdAt} exact />
            </PageLink>
          </li>
        ))}
      </ul>
    </Stack>
  );
}
