import { Checkbox, Modal, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import {
  reasonCharsMax,
  suspendableKinds,
  suspensionEffects,
} from '../../../service/src/contract/suspension.ts';
import { restore, suspend, type Suspendable } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { useSession } from '../session/use-session.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Form } from '../ui/form.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { toastSuccess } from '../ui/toast.ts';

type Props = { what: Suspendable; name: string; suspendedAt: string | null };

/** Whether the role is more than read-only. */
export function useMayChange(): boolean {
  return useSession().data?.operatorRole === 'operator';
}

/** Suspends or restores what a row is about. For those who may. */
export function SuspendOrRestore({ what, name, suspendedAt }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const [change, setChange] = useState({ reason: '', replay: false });
  const isSuspended = suspendedAt !== null;
  const write = useWrite(
    () =>
      isSuspended ? restore(what, { replay: change.replay }) : suspend(what, change.reason.trim()),
    ['/operator'],
    {
      done: ({ changed }) => {
        setIsOpen(false);
        toastSuccess(describe(name, isSuspended, changed));
        moveFocus();
      },
    },
  );
  const action = isSuspended ? 'Restore' : 'Suspend';
  const open = () => {
    write.reset();
    setChange({ reason: '', replay: false });
    setIsOpen(true);
  };
  // A running request cannot be cancelled, so the dialog stays open until its result is known.
  const close = () => {
    if (!write.isPending) setIsOpen(false);
  };
  return (
    <>
      <BusyButton
        variant="default"
        size="xs"
        busy={false}
        aria-label={`${action} ${name}`}
        onClick={open}
      >
        {action}
      </BusyButton>
      <Modal opened={isOpen} onClose={close} title={`${action} ${name}`}>
        <Form
          layout="dialog"
          action={action}
          color={isSuspended ? 'blue' : 'red.9'}
          write={write}
          disabled={!isSuspended && change.reason.trim() === ''}
          cancel={close}
          submit={() => write.mutate(undefined)}
        >
          <Text size="sm">
            {isSuspended ? restored(what) : suspensionEffects[suspendableKinds[what.kind]]}
          </Text>
          {!isSuspended && (
            <TextInput
              label="Reason"
              description="Its owners read it."
              maxLength={reasonCharsMax}
              value={change.reason}
              onChange={({ currentTarget: { value } }) => setChange({ ...change, reason: value })}
              data-autofocus
            />
          )}
          {isSuspended && hasDeliveries(what) && (
            <Checkbox
              label="Replay what the webhooks have missed"
              checked={change.replay}
              onChange={({ currentTarget: { checked } }) =>
                setChange({ ...change, replay: checked })
              }
            />
          )}
        </Form>
      </Modal>
    </>
  );
}

function hasDeliveries({ kind }: Suspendable): boolean {
  return kind === 'apps' || kind === 'webhooks';
}

function describe(name: string, isSuspended: boolean, changed: boolean): string {
  if (isSuspended) return `${name} ${changed ? 'is restored' : 'was not suspended itself'}.`;
  return `${name} is suspended.`;
}

function restored({ kind }: Suspendable): string {
  const unless = kind === 'webhooks' ? ', unless its app is suspended, too' : '';
  return `It works as before the suspension, within a second${unless}.`;
}
