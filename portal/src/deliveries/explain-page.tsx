/** Says why a webhook did or did not get an event. The event is in the address, so that an explanation can be shared. */
import { Button, Group, NativeSelect, Radio, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Fragment, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { explainEvent, explainTime, type WebhookId } from '../api/operations.ts';
import type { ExplainTimeQuery } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { useUnsaved } from '../session/unsaved.ts';
import { Loaded } from '../ui/loaded.tsx';
import { TimeField } from '../ui/time-field.tsx';
import { Section } from '../ui/section.tsx';
import { useWebhookCrumbs, useWebhookId } from '../webhooks/use-webhook-id.ts';
import { ExplanationSection } from './explanation.tsx';
import { readTime } from './filters.ts';
import { subjectFault, subjectLabel, subjectPattern } from './subject.ts';

export const explainTitle = "Why wasn't this event delivered?";

type EventName = ExplainTimeQuery['event'];

/** The events of an organisation or alliance. */
const eventNames = Object.keys({
  'org.created': true,
  'alliance.created': true,
  'org.updated': true,
  'alliance.updated': true,
  'application.created': true,
  'event.created': true,
  'resource.request.created': true,
  'resource.offer.created': true,
} satisfies Record<EventName, true>);

const uuidPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

export function ExplainPage() {
  const id = useWebhookId();
  const [asked] = useSearchParams();
  return (
    <Page
      title={explainTitle}
      lead="Find out why this webhook did or did not get an event."
      crumbs={[...useWebhookCrumbs(), { title: 'Deliveries', to: `${id.page}/deliveries` }]}
    >
      <Fragment key={asked.toString()}>
        <EventForm asked={asked} />
        {asked.has('id') && <ById id={id} eventId={asked.get('id') ?? ''} />}
        {asked.has('event') && <ByTime id={id} asked={asked} />}
      </Fragment>
    </Page>
  );
}

function EventForm({ asked }: { asked: URLSearchParams }) {
  const [, setAsked] = useSearchParams();
  const [at, setAt] = useState(readTime(asked.get('at')));
  const [isFaulty, setFaulty] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const [isTyped, setTyped] = useState(false);
  useUnsaved(isTyped);
  const [by, setBy] = useState(asked.has('event') ? 'time' : 'id');
  return (
    <Section title="Event">
      <form
        onInput={() => setTyped(true)}
        onSubmit={(event) => {
          event.preventDefault();
          const address = toAddress(new FormData(event.currentTarget), at);
          const { id } = address;
          const isWrong = id !== undefined && !uuidPattern.test(id);
          setFaulty(isWrong);
          if (isWrong) field.current?.focus();
          else setAsked(address);
        }}
      >
        <Stack align="flex-start">
          <Radio.Group label="Find it by" value={by} onChange={setBy}>
            <Group mt={6}>
              <Radio value="id" label="Its id" />
              <Radio value="time" label="Event name, subject and time" />
            </Group>
          </Radio.Group>
          {by === 'id' ? (
            <TextInput
              ref={field}
              label="Event id"
              name="id"
              required
              withAsterisk={false}
              w="100%"
              maw={420}
              description="In the list of events, in the body of a delivery, and in GET /events."
              error={
                isFaulty &&
                'Enter the id of an event, such as 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f.'
              }
              autoComplete="off"
              spellCheck={false}
              defaultValue={asked.get('id') ?? ''}
            />
          ) : (
            <TimeFields asked={asked} at={at} setAt={setAt} />
          )}
          <Button type="submit">Explain</Button>
        </Stack>
      </form>
    </Section>
  );
}

type TimeProps = {
  asked: URLSearchParams;
  at: string | null;
  setAt: (at: string | null) => void;
};

function TimeFields({ asked, at, setAt }: TimeProps) {
  return (
    <Group align="flex-end" gap="sm">
      <NativeSelect
        label="Event name"
        name="event"
        data={eventNames}
        defaultValue={asked.get('event') ?? undefined}
      />
      <TextInput
        label={subjectLabel}
        name="subject"
        placeholder="acme-corporation"
        pattern={subjectPattern}
        title={subjectFault}
        required
        withAsterisk={false}
        autoCapitalize="off"
        spellCheck={false}
        defaultValue={asked.get('subject') ?? ''}
      />
      <TimeField label="Time" value={at} onChange={setAt} required withAsterisk={false} />
    </Group>
  );
}

/** The radio buttons have a field too, whose name Mantine makes up. */
function toAddress(fields: FormData, at: string | null): Record<string, string> {
  const address: Record<string, string> = {};
  for (const name of ['id', 'event', 'subject']) {
    const value = fields.get(name);
    if (typeof value === 'string') address[name] = value.trim();
  }
  if (address['subject'] !== undefined) address['subject'] = address['subject'].toLowerCase();
  if (address['event'] !== undefined) address['at'] = at ?? '';
  return address;
}

const waitingEveryMs = 3_000;

function ById({ id, eventId }: { id: WebhookId; eventId: string }) {
  const query = useQuery({
    ...explainEvent(id, eventId),
    refetchInterval: ({ state }) => (state.data?.result === 'waiting' ? waitingEveryMs : false),
  });
  return (
    <Loaded query={query}>
      {(explanation) => <ExplanationSection explanation={explanation} />}
    </Loaded>
  );
}

function ByTime({ id, asked }: { id: WebhookId; asked: URLSearchParams }) {
  const query = useQuery(
    explainTime(id, {
      // The name comes from the address. The service refuses unknown events.
      event: asked.get('event') as EventName,
      subject: asked.get('subject') ?? '',
      at: asked.get('at') ?? '',
    }),
  );
  return (
    <Loaded query={query}>
      {(explanation) => <ExplanationSection explanation={explanation} />}
    </Loaded>
  );
}
