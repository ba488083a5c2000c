import { Group, Table, Text } from '@mantine/core';
import { describeHealth } from '../../../service/src/contract/webhook-in-words.ts';
import type { Webhook, WebhookStats } from '../api/types.ts';
import { formatRate } from '../charts/count-outcomes.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { nameOf, placeOf } from './describe-webhook.ts';
import { timeOr, WebhookBadge } from './webhook-state.tsx';

const columns = [
  { title: 'Webhook' },
  { title: 'Health' },
  { title: '24 hours' },
  { title: 'Success', ta: 'end' as const },
  { title: 'p95', ta: 'end' as const },
  { title: 'Last failure' },
];

/** One line for each webhook, so that a screen shows the most that an app may have. */
export function WebhookTable({ webhooks, stats }: { webhooks: Webhook[]; stats: WebhookStats[] }) {
  return (
    <Table highlightOnHover verticalSpacing={3}>
      <TableHead columns={columns} />
      <Table.Tbody>
        {webhooks.map((webhook) => (
          <Row
            key={webhook.id}
            webhook={webhook}
            stats={stats.find(({ webhookId }) => webhookId === webhook.id)}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

type RowProps = { webhook: Webhook; stats: WebhookStats | undefined };

function Row({ webhook, stats }: RowProps) {
  const reason = describeHealth({ ...webhook, reason: webhook.deactivatedReason });
  const p95 = stats?.total.latencyP95Ms ?? null;
  return (
    <Table.Tr>
      <Table.Td style={{ width: '40%', maxWidth: 0 }}>
        <Group gap="xs" wrap="nowrap">
          <PageLink
            to={`${webhook.id}/deliveries`}
            size="sm"
            fw={600}
            truncate
            maw="70%"
            style={{ flexShrink: 0 }}
          >
            {nameOf(webhook)}
          </PageLink>
          <Note span size="xs" truncate>
            {placeOf(webhook)}
          </Note>
        </Group>
      </Table.Td>
      <Table.Td>
        <Group gap="0 8px">
          <WebhookBadge webhook={webhook} />
          {reason && (
            <Note span size="xs" style={{ whiteSpace: 'nowrap' }}>
              {reason}
            </Note>
          )}
        </Group>
      </Table.Td>
      <Table.Td>{stats && <Sparkline hours={stats.hours} />}</Table.Td>
      <Table.Td ta="end">{stats ? formatRate(stats.total) : '–'}</Table.Td>
      <Table.Td ta="end" style={{ whiteSpace: 'nowrap' }}>
        {p95 === null ? '–' : formatDuration(p95)}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Text size="sm">{timeOr(webhook.lastFailureAt)}</Text>
      </Table.Td>
    </Table.Tr>
  );
}

/** In drawing units, per hour. */
const bar = { width: 4, height: 20 };

/** The deliveries of each hour; the rate next to it says the same in words. */
function Sparkline({ hours }: Pick<WebhookStats, 'hours'>) {
  const most = Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  // One failure among many successes stays visible.
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, (count / most) * bar.height));
  const rect = (x: number, y: number, height: number, color: string) => (
    <rect x={x} y={y} width={bar.width - 1} height={height} fill={color} />
  );
  return (
    <svg aria-hidden width={hours.length * bar.width} height={bar.height} display="block">
      {hours.map(({ succeeded, failed }, index) => {
        const x = index * bar.width;
        const red = heightOf(failed);
        const green = Math.min(heightOf(succeeded), bar.height - red);
        return (
          // The place is the identity of an hour.
          // oxlint-disable-next-line react/no-array-index-key -- as above
          <g key={index}>
            {rect(x, bar.height - 1, 1, 'var(--mantine-color-default-border)')}
            {rect(x, bar.height - green, green, 'var(--mantine-color-green-6)')}
            {rect(x, bar.height - green - red, red, 'var(--mantine-color-red-6)')}
          </g>
        );
      })}
    </svg>
  );
}
