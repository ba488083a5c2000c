import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = { title: string; children: ReactNode; action?: ReactNode };

/** Shown instead of an empty list, with an explanation and the next step. */
export function Empty({ title, children, action }: Props) {
  return (
    <Paper withBorder p="xl">
      <Stack gap="xs" align="flex-start">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text c="dimmed" maw="60ch">
          {children}
        </Text>
        {action}
      </Stack>
    </Paper>
  );
}
