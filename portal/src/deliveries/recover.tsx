import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { RotateCw } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { recover, type WebhookId } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { describeError } from '../ui/describe-error.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { Problem } from '../ui/problem.tsx';
import { webhookChanges } from '../webhooks/use-webhook-id.ts';
import { fromLocalInput, toLocalInput } from './local-time.ts';
import { BusyButton } from '../ui/busy-button.tsx';

const hourMs = 3_600_000;
const spans = [
  { label: 'The last hour', value: String(hourMs) },
  { label: 'The last 24 hours', value: String(24 * hourMs) },
  { label: 'The last 7 days', value: String(7 * 24 * hourMs) },
  // One minute less, because the request takes time and the service refuses more than 14 days.
  { label: 'The last 14 days', value: String(14 * 24 * hourMs - 60_000) },
  { label: 'Since a custom time', value: 'own' },
];
/** The most per recovery: docs/reference/deliveries.md#redeliver-and-recover */
const recoveredMax = 10_000;

/** Sends again all deliveries that failed since a given time, for example after a receiver was down. */
export function Recover({ id, active }: { id: WebhookId; active: boolean }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<RotateCw size={16} aria-hidden />}
        onClick={open}
        aria-haspopup="dialog"
      >
        Recover failed…
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title="Recover failed deliveries"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <RecoverForm id={id} active={active} close={close} />
      </Modal>
    </>
  );
}

function RecoverForm({ id, active, close }: { id: WebhookId; active: boolean; close: () => void }) {
  const [span, setSpan] = useState(String(24 * hourMs));
  const [own, setOwn] = useState(() =>
    toLocalInput(new Date(Date.now() - 24 * hourMs).toISOString()),
  );
  const write = useWrite((since: string) => recover(id, since), webhookChanges);
  // Computed on submit, because the dialogue may have been open for a long time.
  const sinceOf = () =>
    span === 'own' ? fromLocalInput(own) : new Date(Date.now() - Number(span)).toISOString();
  // The field shows this error if it is visible.
  const fault =
    write.isError && span === 'own' ? (describeError(write.error).fields['since'] ?? null) : null;
  if (write.isSuccess) return <Recovered count={write.data.count} close={close} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const since = sinceOf();
        if (since !== null) write.mutate(since);
      }}
    >
      <Stack>
        <Text size="sm">
          This sends again every delivery that failed, or was cancelled when the webhook was paused
          or deactivated, oldest first. Each keeps its id and body and gets up to{' '}
          {attemptsMaxInWords} new attempts. Tests are not sent again.
        </Text>
        <NativeSelect
          label="Time range"
          data={spans}
          value={span}
          onChange={({ currentTarget }) => setSpan(currentTarget.value)}
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
            onChange={({ currentTarget }) => setOwn(currentTarget.value)}
          />
        )}
        {!active && (
          <Alert color="orange" variant="outline" title="This webhook is disabled">
            <Text size="sm">Resume or reactivate it on its page first.</Text>
          </Alert>
        )}
        {write.isError && fault === null && <Problem error={write.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <BusyButton type="submit" busy={write.isPending} disabled={!active || sinceOf() === null}>
            Send again
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
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
  if (count === 0) return 'No deliveries failed in this time range.';
  if (count === 1) return '1 delivery is being sent again. It is pending until it ends.';
  const sent = `${count.toLocaleString()} deliveries are being sent again. They are pending until they end.`;
  if (count < recoveredMax) return sent;
  return `${sent} This is the most per recovery: when these have ended, recover again.`;
}
