import { Group, Pagination as Pages, Text } from '@mantine/core';
import type { Pagination } from '../api/types.ts';

/** Which part of a list is shown, and the way to the others. Nothing where all of it is. */
export function Pager({
  pagination: { page, limit, total, totalPages },
  go,
}: {
  pagination: Pagination;
  go: (page: number) => void;
}) {
  if (totalPages <= 1) return null;
  const first = (page - 1) * limit + 1;
  return (
    <Group component="nav" aria-label="Pages" justify="space-between" gap="sm">
      <Text size="sm" c="dimmed">
        {first}–{Math.min(page * limit, total)} of {total.toLocaleString()}
      </Text>
      <Pages
        value={page}
        total={totalPages}
        onChange={go}
        size="sm"
        siblings={1}
        getItemProps={(number) => ({ 'aria-label': `Page ${number}` })}
        getControlProps={(control) => ({ 'aria-label': `${control} page` })}
      />
    </Group>
  );
}
