/** Sends what a webhook missed in a time range, events from while it was deactivated included. */
import { Button, Modal, Text } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { ApiError } from '@orgdir/client';
import { useQuery } from '@tanstack/react-query';
import { countReplay, replay } from '../api/operations.ts';
import type { Replayed, Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { useUnsaved } from '../session/unsaved.ts';
import { Form } from '../ui/form.tsx';
import { formatCount } from '../ui/format-count.ts';
import { useClosing } from '../ui/use-closing.ts';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { DialogResult } from './dialog-result.tsx';
import { faultOf, TimeRangeFields, useTimeRange, type TimeRange } from './time-range.tsx';

/** How often a count asks again while another one runs, which takes five seconds at most. */
const countsMax = 6;

/** Waits for a pause in choosing: each count is one of the 60 redeliveries per minute. */
const debounceMs = 500;

export const replayTitle = 'Replay missed events';

export function Replay({ webhook }: { webhook: Webhook }) {
  const [opened, { open, close: closeNow }] = useDisclosure();
  const close = useClosing(closeNow);
  return (
    <>
      <Button size="xs" variant="default" onClick={open} aria-haspopup="dialog">
        {replayTitle}…
      </Button>
      <Modal opened={opened} onClose={close} title={replayTitle}>
        <NewReplay webhook={webhook} close={close} />
      </Modal>
    </>
  );
}

/** A separate component, so that each opening starts with a new time range. */
function NewReplay({ webhook, close }: { webhook: Webhook; close: () => void }) {
  return <ReplayForm range={useTimeRange(webhook.lastSuccessAt)} close={close} />;
}

/** The webhook must be active. */
export function ReplayForm({ range, close }: { range: TimeRange; close: () => void }) {
  const id = useWebhookId();
  const { since, until } = range;
  const isBackwards = until !== null && until <= since;
  const chosen = `${since} ${until}`;
  const [counted] = useDebouncedValue(chosen, debounceMs);
  const body = { since, ...(until !== null && { until }) };
  const count = useQuery({
    ...countReplay(id, body),
    enabled: counted === chosen && since !== '' && !isBackwards,
    // The count of the time range that was chosen before may still run.
    retry: (failures, error) => failures < countsMax && isWorthAWait(error),
    retryDelay: (_, error) => ((error as ApiError).retryAfter ?? 0) * 1_000,
    refetchOnWindowFocus: false,
  });
  const write = useWrite(() => replay(id, body), appChanges, { waits: false });
  useUnsaved(range.isChosen && !write.isSuccess);
  const found = count.data && totalOf(count.data);
  const error = found === undefined ? count.error : write.error;
  const fault = isBackwards ? 'Choose a time before “Until”.' : faultOf(range, error);
  if (write.isSuccess)
    return <DialogResult close={close}>{describeReplayed(write.data)}</DialogResult>;
  return (
    <Form
      layout="dialog"
      action={found ? `Replay ${found.toLocaleString()}` : 'Replay'}
      write={{ isPending: write.isPending, error: fault ? null : error }}
      submit={() => write.mutate(undefined)}
      disabled={!found}
      cancel={close}
    >
      <Text size="sm">
        Sends the deliveries that failed or were cancelled by a deactivation, and the events from
        while the webhook was deactivated. Each event is sent once, in order, 20 per second.
      </Text>
      <TimeRangeFields range={range} fault={fault} hasEnd />
      <Text fw={600} role="status">
        {count.data && describeFound(count.data)}
      </Text>
    </Form>
  );
}

function isWorthAWait(error: Error): boolean {
  return error instanceof ApiError && error.code === 'conflict' && error.retryAfter !== null;
}

function totalOf({ failed, cancelled, missed }: Replayed): number {
  return failed + cancelled + missed;
}

function describeFound(counts: Replayed): string {
  const { failed, cancelled, missed, more } = counts;
  if (totalOf(counts) === 0) return 'The webhook missed nothing in this time range.';
  const parts = [
    failed > 0 && `${failed.toLocaleString()} failed`,
    cancelled > 0 && `${cancelled.toLocaleString()} cancelled`,
    missed > 0 && `${missed.toLocaleString()} missed`,
  ].filter((part) => part !== false);
  const found = `${formatCount(totalOf(counts), 'event')} will be sent: ${parts.join(', ')}.`;
  return more ? `${found} This is the most per replay; there is more.` : found;
}

function describeReplayed(counts: Replayed): string {
  const sent = `${formatCount(totalOf(counts), 'event')} will be sent, 20 per second.`;
  return counts.more ? `${sent} When these have been sent, replay again: there is more.` : sent;
}
