import { Group, Stack, Text, Title, type TitleProps } from '@mantine/core';
import type { ReactNode } from 'react';

export type TitleRowProps = { title: ReactNode; lead?: ReactNode; actions?: ReactNode };

/** A heading that can take the focus, with actions next to it and a lead below it. */
export function TitleRow({
  title,
  lead,
  actions,
  ...heading
}: TitleRowProps & Omit<TitleProps, 'title'>) {
  return (
    <Stack gap={4}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Title tabIndex={-1} {...heading}>
          <bdi>{title}</bdi>
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {lead && (
        <Text
          component="div"
          c="dimmed"
          {...(typeof lead === 'string' && { maw: '70ch' })}
          {...(heading.order !== 1 && { size: 'sm' })}
        >
          {lead}
        </Text>
      )}
    </Stack>
  );
}
