import { Code, Group, Text } from '@mantine/core';
import { useLocation } from 'react-router';
import { CircleCheck, CircleSlash } from '../ui/icons.tsx';
import type { CatalogueEvent, PortalEvent } from '../api/types.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { Fold, SmallFold } from '../ui/fold.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { FieldTable } from './field-table.tsx';

type Props = {
  entry: CatalogueEvent;
  /** Undefined if no app is chosen. */
  permission: Pick<PortalEvent, 'allowed' | 'reason'> | undefined;
};

/** One event, collapsed to its description. The element's id is the event's name, so `/events#org.created` links here. */
export function EventEntry({ entry: { event, description, schema, sample }, permission }: Props) {
  const { search } = useLocation();
  return (
    <Fold
      id={event}
      title={event}
      monospace
      summary={[description, permission && <Permission key="permission" {...permission} />]}
    >
      <FieldTable event={event} schema={schema} />
      <CodeBlock label={`Sample of data in ${event}`} text={formatJson(sample)} maxHeight={320} />
      <SmallFold title={`JSON Schema of ${event}`}>
        <CodeBlock label={`JSON Schema of ${event}`} text={formatJson(schema)} />
      </SmallFold>
      <Note>
        A delivery contains <Code>id</Code>, <Code>event</Code>, <Code>createdAt</Code> and this{' '}
        <Code>data</Code>. <PageLink to={{ search, hash: event }}>Link to {event}</PageLink>
      </Note>
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

function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
