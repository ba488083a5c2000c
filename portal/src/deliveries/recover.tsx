import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { RotateCw } from '../ui/icons.tsx';
import { useEffect, useRef, useState } from 'react';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { recover, type WebhookId } from '../api/operations.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { describeError } from '../ui/describe-error.ts';
import { Form } from '../ui/form.tsx';
import { formatCount } from '../ui/format-count.ts';
import { fromLocalInput, toLocalInput } from '../ui/local-time.ts';
import { moveFocus } from '../ui/move-focus.ts';

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

type Props = { id: WebhookId; active: boolean };

/** Sends again all deliveries that failed since a given time, for example after a receiver was down. */
export function Recover(props: Props) {
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
      <Modal opened={opened} onClose={close} title="Recover failed deliveries">
        <RecoverForm {...props} close={close} />
      </Modal>
    </>
  );
}

function RecoverForm({ id, active, close }: Props & { close: () => void }) {
  const [span, setSpan] = useState(String(24 * hourMs));
  const [own, setOwn] = useState(() => toLocalInput(timeAgo(24 * hourMs)));
  const write = useWrite((since: string) => recover(id, since), appChanges);
  // Computed on submit, because the dialog may have been open for a long time.
  const sinceOf = () => (span === 'own' ? fromLocalInput(own) : timeAgo(Number(span)));
  // The field shows this error if it is visible.
  const fault = span === 'own' && write.isError ? describeError(write.error).fields['since'] : null;
  if (write.isSuccess) return <Recovered count={write.data.count} close={close} />;
  return (
    <Form
      layout="dialog"
      action="Send again"
      write={{ isPending: write.isPending, error: fault ? null : write.error }}
      submit={() => write.mutate(sinceOf() ?? '')}
      disabled={!active || sinceOf() === null}
      cancel={close}
    >
      <Text size="sm">
        This sends again every delivery that failed, or was cancelled when the webhook was
        deactivated, oldest first. Each keeps its id and body and gets up to {attemptsMaxInWords}{' '}
        new attempts. Tests are not sent again.
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
        <Alert color="orange" title="This webhook is deactivated">
          <Text size="sm">Reactivate it on its page first.</Text>
        </Alert>
      )}
    </Form>
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
  const sent = `${formatCount(count, 'delivery')} are being sent again. They are pending until they end.`;
  if (count < recoveredMax) return sent;
  return `${sent} This is the most per recovery: when these have ended, recover again.`;
}

function timeAgo(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}
