import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** What is known of something: each fact with what it is about. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }) {
  return (
    <Group component="dl" gap="6px 20px" m={0}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0}>
            {value}
          </Text>
        </div>
      ))}
    </Group>
  );
}
