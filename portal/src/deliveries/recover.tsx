import { Alert, Button, Modal, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { recover, recoverable, updateWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { useUnsaved } from '../session/unsaved.ts';
import { Form } from '../ui/form.tsx';
import { formatCount } from '../ui/format-count.ts';
import { RotateCw } from '../ui/icons.tsx';
import { useClosing } from '../ui/use-closing.ts';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { DialogResult } from './dialog-result.tsx';
import { ReplayForm, replayTitle } from './replay.tsx';
import { faultOf, TimeRangeFields, useTimeRange, type TimeRange } from './time-range.tsx';

/** The most per recovery: docs/reference/deliveries.md#redeliver-and-recover */
const recoveredMax = 10_000;

/** Navigation state of a link that leads to the recovery. */
export type OpensRecovery = { opensRecovery?: true };

/** Sends again all deliveries that failed since a given time, for example after a receiver was down. */
export function Recover({ webhook }: { webhook: Webhook }) {
  const { state, pathname, search } = useLocation();
  const navigate = useNavigate();
  const isAsked = (state as OpensRecovery | null)?.opensRecovery === true;
  const [opened, { open, close: closeNow }] = useDisclosure(isAsked);
  const close = useClosing(closeNow);
  const [isReplaying, setIsReplaying] = useState(false);
  useEffect(() => {
    // Otherwise Reload and Back open it again.
    if (isAsked) void navigate(`${pathname}${search}`, { replace: true, state: null });
  }, [isAsked, pathname, search, navigate]);
  const openRecovery = () => {
    setIsReplaying(false);
    open();
  };
  return (
    <>
      <Button
        variant={webhook.active ? 'default' : 'filled'}
        leftSection={<RotateCw size={16} aria-hidden />}
        onClick={openRecovery}
        aria-haspopup="dialog"
      >
        Recover…
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={isReplaying ? replayTitle : 'Recover failed deliveries'}
      >
        <Steps
          webhook={webhook}
          isReplaying={isReplaying}
          replay={() => setIsReplaying(true)}
          close={close}
        />
      </Modal>
    </>
  );
}

type StepsProps = Omit<RecoverProps, 'range'> & { isReplaying: boolean };

/** A replay after the recovery has the same time range. */
function Steps({ isReplaying, ...props }: StepsProps) {
  const range = useTimeRange(props.webhook.lastSuccessAt);
  if (isReplaying) return <ReplayForm range={range} close={props.close} />;
  return <RecoverForm range={range} {...props} />;
}

type RecoverProps = {
  webhook: Webhook;
  range: TimeRange;
  replay: () => void;
  close: () => void;
};

function RecoverForm({ webhook, range, replay, close }: RecoverProps) {
  const id = useWebhookId();
  // The webhook becomes active while the request runs.
  const [{ active: wasActive }] = useState(webhook);
  const { since } = range;
  const count = useQuery({ ...recoverable(id, since), enabled: since !== '' });
  const activate = useWrite(() => updateWebhook(id, { active: true }), appChanges, {
    waits: false,
  });
  const write = useWrite(async () => {
    if (!wasActive && !activate.isSuccess) await activate.mutateAsync(undefined);
    return recover(id, since);
  }, appChanges);
  useUnsaved(range.isChosen && !write.isSuccess);
  const active = wasActive || (write.isError && activate.isSuccess);
  const found = count.data?.count;
  const error = found === undefined ? count.error : write.error;
  const fault = faultOf(range, error);
  if (write.isSuccess)
    return (
      <DialogResult
        close={close}
        action={
          !wasActive && (
            <Button variant="default" onClick={replay}>
              {replayTitle}…
            </Button>
          )
        }
      >
        {describeRecovered(write.data.count)}
      </DialogResult>
    );
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
      <TimeRangeFields range={range} fault={fault} />
      <Text fw={600} role="status">
        {found !== undefined && describeFound(found)}
      </Text>
      {!active && (
        <Alert color="orange" title="This webhook is deactivated">
          <Text size="sm">
            It is reactivated first. Then you can replay the events since its deactivation.
          </Text>
        </Alert>
      )}
    </Form>
  );
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

function describeRecovered(count: number): string {
  if (count === 0) return 'Webhook activated. No deliveries had to be sent again.';
  if (count === 1) return '1 delivery is being sent again. It is pending until it ends.';
  const sent = `${formatCount(count, 'delivery')} are being sent again. They are pending until they end.`;
  if (count < recoveredMax) return sent;
  return `${sent} This is the most per recovery: when these have ended, recover again.`;
}
