import { Checkbox, Text } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { useState } from 'react';
import { suspendableKinds, suspensionEffects } from '../../../service/src/contract/console.ts';
import { restore, suspend, type Suspendable } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { useSession } from '../session/use-session.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Form } from '../ui/form.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { toastSuccess } from '../ui/toast.ts';
import { ReasonForm } from './reason-form.tsx';

type Props = { what: Suspendable; name: string };

/** Whether the role is more than read-only. */
export function useMayChange(): boolean {
  return useSession().data?.operatorRole === 'operator';
}

/** Suspends or restores what a row is about. For those who may. */
export function SuspendOrRestore({
  suspendedAt,
  ...props
}: Props & { suspendedAt: string | null }) {
  return suspendedAt === null ? <Suspend {...props} /> : <Restore {...props} />;
}

function Suspend({ what, name }: Props) {
  const title = `Suspend ${name}`;
  const write = useWrite((reason: string) => suspend(what, reason), ['/operator'], {
    done: () => announce(`${name} is suspended.`),
  });
  return (
    <DialogButton
      button={{ size: 'xs', 'aria-label': title, children: 'Suspend' }}
      title={title}
      write={write}
    >
      {(close) => (
        <ReasonForm
          action="Suspend"
          color="red.9"
          description="Its owners read it."
          write={write}
          cancel={close}
        >
          <Text size="sm">{suspensionEffects[suspendableKinds[what.kind]]}</Text>
        </ReasonForm>
      )}
    </DialogButton>
  );
}

function Restore({ what, name }: Props) {
  const title = `Restore ${name}`;
  const write = useWrite((replay: boolean) => restore(what, { replay }), ['/operator'], {
    done: ({ changed }) =>
      announce(`${name} ${changed ? 'is restored' : 'was not suspended itself'}.`),
  });
  return (
    <DialogButton
      button={{ size: 'xs', 'aria-label': title, children: 'Restore' }}
      title={title}
      write={write}
    >
      {(close) => <RestoreForm what={what} write={write} cancel={close} />}
    </DialogButton>
  );
}

type RestoreFormProps = {
  what: Suspendable;
  /** Takes whether to replay. */
  write: UseMutationResult<unknown, Error, boolean>;
  cancel: () => void;
};

function RestoreForm({ what: { kind }, write, cancel }: RestoreFormProps) {
  const [replay, setReplay] = useState(false);
  const unless = kind === 'webhooks' ? ', unless its app is suspended, too' : '';
  return (
    <Form
      layout="dialog"
      action="Restore"
      color="blue"
      write={write}
      cancel={cancel}
      submit={() => write.mutate(replay)}
    >
      <Text size="sm">It works as before the suspension, within a second{unless}.</Text>
      {(kind === 'apps' || kind === 'webhooks') && (
        <Checkbox
          label="Replay what the webhooks have missed"
          checked={replay}
          onChange={({ currentTarget: { checked } }) => setReplay(checked)}
        />
      )}
    </Form>
  );
}

/** The button that asked is gone. */
function announce(text: string): void {
  toastSuccess(text);
  moveFocusAfterWait();
}
