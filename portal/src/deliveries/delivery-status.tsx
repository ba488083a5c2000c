import { Group, Text } from '@mantine/core';
import { CircleCheck, CircleSlash, CircleX, Clock } from '../ui/icons.tsx';
import type { Delivery } from '../api/types.ts';

type Status = Delivery['status'];

/** Labels of the states, in the order of the filter. */
export const statusLabels: Record<Status, string> = {
  pending: 'Pending',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** As the filter names them. */
export const statusFilterLabels = { ...statusLabels, undelivered: 'Failed or cancelled' };

const looks = {
  pending: { Icon: Clock, color: 'var(--mantine-color-indigo-text)' },
  succeeded: { Icon: CircleCheck, color: 'var(--mantine-color-green-text)' },
  failed: { Icon: CircleX, color: 'var(--mantine-color-red-text)' },
  cancelled: { Icon: CircleSlash, color: 'var(--mantine-color-dimmed)' },
} as const;

export function DeliveryStatus({ status }: { status: Status }) {
  const { Icon, color } = looks[status];
  return (
    <Group component="span" gap={6} wrap="nowrap" align="baseline" display="inline-flex">
      <Icon size={16} color={color} aria-hidden style={{ flexShrink: 0, alignSelf: 'center' }} />
      <Text span inherit fw={500} style={{ whiteSpace: 'nowrap' }}>
        {statusLabels[status]}
      </Text>
    </Group>
  );
}
