import {
  Button,
  Checkbox,
  Fieldset,
  Input,
  Radio,
  Stack,
  Text,
  VisuallyHidden,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useId, useState, type ReactNode } from 'react';
import { events as eventsOperation } from '../api/operations.ts';
import type { PortalEvent } from '../api/types.ts';
import { byAudience } from '../ui/by-audience.ts';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';

type EventChoiceProps = {
  appId: string;
  value?: string[] | null;
  onChange: (value: string[] | null) => void;
  error?: ReactNode;
  /** Where the form finds what to focus. */
  'data-path'?: string;
};

/** Chooses the events of a webhook. Null: all events the app can get, including future ones, except opt-in ones. */
export function EventChoice({ appId, value, onChange, error, ...path }: EventChoiceProps) {
  // Remembers the chosen ones while all are.
  const [chosen, setChosen] = useState(value ?? []);
  const errorId = useId();
  return (
    <Stack>
      <Radio.Group
        label="Events"
        value={value ? 'chosen' : 'every'}
        onChange={(which) => onChange(which === 'every' ? null : chosen)}
        {...(error && { 'aria-describedby': errorId })}
      >
        <Stack gap="xs" mt={6}>
          <Radio
            value="every"
            label="All events this app can get, including future ones, except opt-in ones"
          />
          <Radio value="chosen" label="Only selected events" />
        </Stack>
      </Radio.Group>
      {value && (
        <Stack data-path={path['data-path']}>
          <Events
            appId={appId}
            chosen={value}
            change={(events) => {
              setChosen(events);
              onChange(events);
            }}
          />
        </Stack>
      )}
      {error && (
        <Input.Error id={errorId} role="alert">
          {error}
        </Input.Error>
      )}
    </Stack>
  );
}

type Choice = { appId: string; chosen: string[]; change: (chosen: string[]) => void };

function Events(props: Choice) {
  const query = useQuery(eventsOperation(props.appId));
  return (
    <Loaded query={query}>
      {({ entries }) =>
        byAudience(entries).map(({ title, events }) => (
          <EventGroup key={title} title={title} events={events} {...props} />
        ))
      }
    </Loaded>
  );
}

/** Events that the app cannot get are listed with the reason. */
function EventGroup({
  title,
  events,
  appId,
  chosen,
  change,
}: Choice & { title: string; events: PortalEvent[] }) {
  const allowed = events.filter((each) => each.allowed).map(({ event }) => event);
  const hasAll = allowed.every((event) => chosen.includes(event));
  const others = chosen.filter((event) => !allowed.includes(event));
  const toggle = (event: string, isChosen: boolean) =>
    change(isChosen ? [...chosen, event] : chosen.filter((each) => each !== event));
  return (
    <Fieldset legend={title}>
      <Stack gap="sm" align="flex-start">
        {allowed.length > 0 ? (
          <Button
            size="xs"
            variant="default"
            onClick={() => change(hasAll ? others : [...others, ...allowed])}
          >
            {hasAll ? 'Select none' : 'Select all'}
            <VisuallyHidden> {title.toLowerCase()}</VisuallyHidden>
          </Button>
        ) : (
          <Text size="sm">
            This app can't get these events. Change its binding on{' '}
            <PageLink to={`/apps/${appId}`}>the app's page</PageLink>.
          </Text>
        )}
        {events.map((event) => (
          <EventCheckbox
            key={event.event}
            event={event}
            isChosen={chosen.includes(event.event)}
            toggle={(isChosen) => toggle(event.event, isChosen)}
          />
        ))}
      </Stack>
    </Fieldset>
  );
}

type EventCheckboxProps = {
  event: PortalEvent;
  isChosen: boolean;
  toggle: (isChosen: boolean) => void;
};

function EventCheckbox({
  event: { event, description, allowed, reason },
  isChosen,
  toggle,
}: EventCheckboxProps) {
  return (
    <Checkbox
      label={event}
      checked={isChosen}
      // An event that was chosen while it was allowed can still be removed.
      disabled={!allowed && !isChosen}
      onChange={({ currentTarget }) => toggle(currentTarget.checked)}
      description={
        <>
          {description}
          {reason && (
            <Text span inherit display="block">
              Not available: {reason}.
            </Text>
          )}
        </>
      }
    />
  );
}
