import { Anchor, Code, Group, Text } from '@mantine/core';
import { CircleCheck, CircleSlash } from 'lucide-react';
import { Link, useLocation } from 'react-router';
import type { CatalogueEvent, PortalEvent } from '../api/types.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { Fold, SmallFold } from '../ui/fold.tsx';
import { FieldTable } from './field-table.tsx';

/** One event, collapsed to its description. The element's id is the event's name, so `/events#org.created` links here. */
export function EventEntry({
  entry: { event, description, schema, sample },
  permission,
}: {
  entry: CatalogueEvent;
  /** Undefined if no app is chosen. */
  permission: Pick<PortalEvent, 'allowed' | 'reason'> | undefined;
}) {
  const { search } = useLocation();
  return (
    <Fold
      id={event}
      order={3}
      title={event}
      monospace
      summary={
        <>
          <Text size="sm" c="dimmed">
            {description}
          </Text>
          {permission && <Permission {...permission} />}
        </>
      }
    >
      <FieldTable event={event} schema={schema} />
      <CodeBlock label={`Sample of data in ${event}`} text={toText(sample)} maxHeight={320} />
      <SmallFold title={`JSON Schema of ${event}`}>
        <CodeBlock label={`JSON Schema of ${event}`} text={toText(schema)} />
      </SmallFold>
      <Text size="sm" c="dimmed">
        A delivery contains <Code>id</Code>, <Code>event</Code>, <Code>createdAt</Code> and this{' '}
        <Code>data</Code>.{' '}
        <Anchor component={Link} to={{ search, hash: event }} inherit>
          Link to {event}
        </Anchor>
      </Text>
    </Fold>
  );
}

function Permission({ allowed, reason }: Pick<PortalEvent, 'allowed' | 'reason'>) {
  const Icon = allowed ? CircleCheck : CircleSlash;
  const color = allowed ? 'var(--mantine-color-green-text)' : 'var(--mantine-color-dimmed)';
  return (
    <Group gap={6} wrap="nowrap" align="flex-start" mt={4}>
      <Icon size={16} color={color} aria-hidden style={{ flexShrink: 0, marginTop: 2 }} />
      <Text size="sm">
        {allowed ? 'Available to this app.' : `Not available to this app: ${reason}.`}
      </Text>
    </Group>
  );
}

function toText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
