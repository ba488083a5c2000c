import {
  Anchor,
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
import { useId } from 'react';
import { Link } from 'react-router';
import { events as eventsOperation } from '../api/operations.ts';
import type { PortalEvent } from '../api/types.ts';
import { Loaded } from '../ui/loaded.tsx';

export type ChosenEvents = {
  /** All events the app can get, including future ones. */
  every: boolean;
  chosen: string[];
};

/** Chooses the events of a webhook. Events that the app cannot get are listed with the reason. */
export function EventChoice({
  appId,
  value,
  change,
  error,
}: {
  appId: string;
  value: ChosenEvents;
  change: (value: ChosenEvents) => void;
  error: string | null;
}) {
  const query = useQuery(eventsOperation(appId));
  const errorId = useId();
  return (
    <Stack>
      <Radio.Group
        label="Events"
        value={value.every ? 'every' : 'chosen'}
        onChange={(which) => change({ ...value, every: which === 'every' })}
        {...(error && { 'aria-describedby': errorId })}
      >
        <Stack gap="xs" mt={6}>
          <Radio value="every" label="All events this app can get, including future ones" />
          <Radio value="chosen" label="Only selected events" />
        </Stack>
      </Radio.Group>
      {!value.every && (
        <Loaded query={query}>
          {({ entries }) => (
            <Stack>
              {audiences.map((audience) => (
                <AudienceEvents
                  key={audience.name}
                  audience={audience}
                  appId={appId}
                  events={entries.filter((each) => each.audience === audience.name)}
                  chosen={value.chosen}
                  change={(chosen) => change({ ...value, chosen })}
                />
              ))}
            </Stack>
          )}
        </Loaded>
      )}
      {error && (
        <Input.Error id={errorId} role="alert">
          {error}
        </Input.Error>
      )}
    </Stack>
  );
}

type Audience = { name: PortalEvent['audience']; title: string };

const audiences: Audience[] = [
  { name: 'global', title: 'For everyone' },
  { name: 'organization', title: 'From your organisation' },
  { name: 'alliance', title: 'From your alliance' },
];

function AudienceEvents({
  audience: { title },
  appId,
  events,
  chosen,
  change,
}: {
  audience: Audience;
  appId: string;
  events: PortalEvent[];
  chosen: string[];
  change: (chosen: string[]) => void;
}) {
  const allowed = events.filter((each) => each.allowed).map(({ event }) => event);
  const hasAll = allowed.every((event) => chosen.includes(event));
  const others = chosen.filter((event) => !allowed.includes(event));
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
            <Anchor component={Link} to={`/apps/${appId}`}>
              the app's page
            </Anchor>
            .
          </Text>
        )}
        {events.map((each) => (
          <EventCheckbox
            key={each.event}
            event={each}
            isChosen={chosen.includes(each.event)}
            toggle={(isChosen) =>
              change(
                isChosen ? [...chosen, each.event] : chosen.filter((event) => event !== each.event),
              )
            }
          />
        ))}
      </Stack>
    </Fieldset>
  );
}

function EventCheckbox({
  event: { event, description, allowed, reason },
  isChosen,
  toggle,
}: {
  event: PortalEvent;
  isChosen: boolean;
  toggle: (isChosen: boolean) => void;
}) {
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
