import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useId, type ReactNode, type Ref } from 'react';

/** A titled section of a page. */
export function Section({
  title,
  lead,
  actions,
  headingRef,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  /** For focusing the heading. */
  headingRef?: Ref<HTMLHeadingElement>;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <Paper component="section" withBorder p={{ base: 'sm', sm: 'lg' }} aria-labelledby={id}>
      <Stack>
        <Stack gap={4}>
          <Group justify="space-between" align="flex-start" gap="sm">
            <Title
              order={2}
              size="h4"
              id={id}
              tabIndex={-1}
              {...(headingRef && { ref: headingRef })}
            >
              {title}
            </Title>
            {actions && <Group gap="xs">{actions}</Group>}
          </Group>
          {lead && (
            <Text component="div" size="sm" c="dimmed" maw="70ch">
              {lead}
            </Text>
          )}
        </Stack>
        {children}
      </Stack>
    </Paper>
  );
}
