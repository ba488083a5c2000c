import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { catalogue } from '../api/operations.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';

/** Says why a delivery has no body. */
export function NoBody({ event }: { event: string }) {
  const app = useApp();
  const audience = useQuery(catalogue()).data?.entries.find(
    (each) => each.event === event,
  )?.audience;
  if (!app || audience === undefined) return null;
  const isInternal = audience === 'organization' || audience === 'alliance';
  return (
    <Text>
      {isInternal && !can(app, 'readInternalBodies')
        ? 'This is an internal event. Only owners and developers see its body and the responses to it.'
        : "The body can't be shown: the app can no longer get this event, or the event was deleted. A new binding does not bring it back."}
    </Text>
  );
}
