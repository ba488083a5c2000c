import { Group, Stack, Text } from '@mantine/core';
import { Lock } from 'lucide-react';
import type { Bindable } from '../api/types.ts';
import { subjectWords } from './app-words.ts';
import classes from './bindable-list.module.css';
import { BusyButton } from '../ui/busy-button.tsx';

export function BindableList({
  subjects,
  bind,
  busyWith,
}: {
  subjects: Bindable[];
  bind: (subject: Bindable) => void;
  busyWith: string | null;
}) {
  if (subjects.length === 0) return null;
  return (
    <Stack component="ul" gap={0} className={classes['list'] ?? ''} aria-label="Search results">
      {subjects.map((subject) => (
        <Group
          key={subject.id}
          component="li"
          justify="space-between"
          gap="xs"
          className={classes['entry'] ?? ''}
        >
          <Name subject={subject} />
          {subject.available ? (
            <BusyButton
              size="xs"
              onClick={() => bind(subject)}
              busy={busyWith === subject.id}
              disabled={busyWith !== null && busyWith !== subject.id}
              aria-label={`Bind to ${subject.name}`}
            >
              Bind
            </BusyButton>
          ) : (
            <Text size="sm" c="dimmed">
              <Lock size={14} aria-hidden /> Not available. {subject.reason}
            </Text>
          )}
        </Group>
      ))}
    </Stack>
  );
}

function Name({ subject: { name, kind, slug, available } }: { subject: Bindable }) {
  return (
    <div>
      <Text {...(!available && { c: 'dimmed' })}>{name}</Text>
      <Text size="xs" c="dimmed">
        {subjectWords[kind]} {slug}
      </Text>
    </div>
  );
}
