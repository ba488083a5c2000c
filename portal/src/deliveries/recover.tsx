import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { recover, recoverable, updateWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { describeError } from '../ui/describe-error.ts';
import { Form } from '../ui/form.tsx';
import { formatCount } from '../ui/format-count.ts';
import { RotateCw } from '../ui/icons.tsx';
import { fromLocalInput, toLocalInput } from '../ui/local-time.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
// One minute less, because the request takes time and the service refuses more than 14 days.
const longestMs = 14 * dayMs - 60_000;
const spans = [
  { label: 'The last hour', value: String(hourMs) },
  { label: 'The last 24 hours', value: String(dayMs) },
  { label: 'The last 7 days', value: String(7 * dayMs) },
  { label: 'The last 14 days', value: String(longestMs) },
  { label: 'Since a custom time', value: 'own' },
];
/** The most per recovery: docs/reference/deliveries.md#redeliver-and-recover */
const recoveredMax = 10_000;

/** Navigation state of a link that leads to the recovery. */
export type OpensRecovery = { opensRecovery?: true };

/** Sends again all deliveries that failed since a given time, for example after a receiver was down. */
export function Recover({ webhook }: { webhook: Webhook }) {
  const { state } = useLocation();
  const [opened, { open, close }] = useDisclosure((state as OpensRecovery | null)?.opensRecovery);
  return (
    <>
      <Button
        variant={webhook.active ? 'default' : 'filled'}
        leftSection={<RotateCw size={16} aria-hidden />}
        onClick={open}
        aria-haspopup="dialog"
      >
        Recover…
      </Button>
      <Modal opened={opened} onClose={close} title="Recover failed deliveries">
        <RecoverForm webhook={webhook} close={close} />
      </Modal>
    </>
  );
}

function RecoverForm({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const id = useWebhookId();
  // The webhook becomes active while the request runs.
  const [{ active }] = useState(webhook);
  const [span, setSpan] = useState(() => spanSince(webhook.lastSuccessAt));
  const [own, setOwn] = useState(() => toLocalInput(timeAgo(dayMs)));
  const [since, setSince] = useState(() => timeAgo(Number(span)));
  const choose = (chosen: string, custom = own) => {
    setSpan(chosen);
    setOwn(custom);
    setSince(chosen === 'own' ? (fromLocalInput(custom) ?? '') : timeAgo(Number(chosen)));
  };
  const count = useQuery({ ...recoverable(id, since), enabled: since !== '', retry: false });
  const write = useWrite(async () => {
    if (!active) await updateWebhook(id, { active: true });
    return recover(id, since);
  }, appChanges);
  const found = count.data?.count;
  // The field shows this error if it is visible.
  const error = write.error ?? count.error;
  const fault = span === 'own' && error ? describeError(error).fields['since'] : null;
  if (write.isSuccess) return <Recovered count={write.data.count} close={close} />;
  return (
    <Form
      layout="dialog"
      action={nameAction(active, found)}
      write={{ isPending: write.isPending, error: fault ? null : error }}
      submit={() => write.mutate(undefined)}
      disabled={found === undefined || (active && found === 0)}
      cancel={close}
    >
      <Text size="sm">
        Sends again every delivery that failed, or was cancelled when the webhook was deactivated,
        oldest first. Each keeps its id and body and gets up to {attemptsMaxInWords} new attempts.
      </Text>
      <NativeSelect
        label="Time range"
        data={spans}
        value={span}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
        data-autofocus
      />
      {span === 'own' && (
        <TextInput
          type="datetime-local"
          label="Since"
          description="At most 14 days ago"
          value={own}
          error={fault}
          required
          withAsterisk={false}
          onChange={({ currentTarget }) => choose('own', currentTarget.value)}
        />
      )}
      <Text fw={600} role="status">
        {found !== undefined && describeFound(found)}
      </Text>
      {!active && (
        <Alert color="orange" title="This webhook is deactivated">
          <Text size="sm">
            It is reactivated first. Events since its deactivation are not sent.
          </Text>
        </Alert>
      )}
    </Form>
  );
}

/** The shortest range that begins before the last success, because everything failed after it. */
function spanSince(lastSuccessAt: string | null): string {
  const ms = lastSuccessAt === null ? longestMs : Date.now() - Date.parse(lastSuccessAt);
  return spans.find(({ value }) => Number(value) >= ms)?.value ?? String(longestMs);
}

function nameAction(active: boolean, count: number | undefined): string {
  if (active) return count ? `Resend ${count.toLocaleString()}` : 'Resend';
  return count ? `Reactivate and resend ${count.toLocaleString()}` : 'Reactivate';
}

function describeFound(count: number): string {
  if (count === 0) return 'No deliveries failed in this time range.';
  const found = `${formatCount(count, 'delivery')} will be sent again.`;
  return count < recoveredMax ? found : `${found} This is the most per recovery.`;
}

function Recovered({ count, close }: { count: number; close: () => void }) {
  const message = useRef<HTMLParagraphElement>(null);
  // The form that had the focus is gone.
  useEffect(() => moveFocus(message.current), []);
  return (
    <Stack>
      <Text ref={message} tabIndex={-1} style={{ outline: 'none' }}>
        {describeRecovered(count)}
      </Text>
      <Group justify="flex-end">
        <Button onClick={close}>Done</Button>
      </Group>
    </Stack>
  );
}

function describeRecovered(count: number): string {
  if (count === 0) return 'The webhook is active again. No deliveries had to be sent again.';
  if (count === 1) return '1 delivery is being sent again. It is pending until it ends.';
  const sent = `${formatCount(count, 'delivery')} are being sent again. They are pending until they end.`;
  if (count < recoveredMax) return sent;
  return `${sent} This is the most per recovery: when these have ended, recover again.`;
}

function timeAgo(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}
