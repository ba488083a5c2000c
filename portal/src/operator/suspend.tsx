import { Checkbox, Modal, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { reasonCharsMax } from '../../../service/src/contract/suspension.ts';
import { restore, suspend, type Suspendable } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { useSession } from '../session/use-session.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Form } from '../ui/form.tsx';
import { toastSuccess } from '../ui/toast.ts';

type Props = { what: Suspendable; name: string; suspendedAt: string | null };

const changes = ['/operator'];

/** Suspends or restores what a row is about. Only for those who may. */
export function SuspendOrRestore({ suspendedAt, ...props }: Props) {
  const role = useSession().data?.operatorRole;
  if (role !== 'operator') return null;
  return suspendedAt === null ? <Suspend {...props} /> : <Restore {...props} />;
}

type ChangeProps = Omit<Props, 'suspendedAt'>;

function Suspend({ what, name }: ChangeProps) {
  const [reason, setReason] = useState<string | null>(null);
  const write = useWrite((text: string) => suspend(what, text), changes, {
    done: () => {
      toastSuccess(`${name} is suspended.`);
      setReason(null);
    },
  });
  return (
    <>
      <BusyButton
        variant="default"
        size="xs"
        busy={false}
        aria-label={`Suspend ${name}`}
        onClick={() => {
          write.reset();
          setReason('');
        }}
      >
        Suspend
      </BusyButton>
      <Modal
        opened={reason !== null}
        onClose={() => write.isPending || setReason(null)}
        title={`Suspend ${name}`}
      >
        <Form
          layout="dialog"
          action="Suspend"
          color="red.9"
          write={write}
          disabled={(reason ?? '').trim() === ''}
          cancel={() => setReason(null)}
          submit={() => write.mutate((reason ?? '').trim())}
        >
          <Text size="sm">{effects[what.kind]}</Text>
          <TextInput
            label="Reason"
            description="Its owners read it."
            maxLength={reasonCharsMax}
            value={reason ?? ''}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
            data-autofocus
          />
        </Form>
      </Modal>
    </>
  );
}

const effects: Record<Suspendable['kind'], string> = {
  accounts: 'Its sessions are refused. Its apps and their keys keep working.',
  apps: 'Its keys are refused, its webhooks receive nothing, and its members can only read. Pending deliveries are cancelled.',
  webhooks: 'It receives nothing, and pending deliveries are cancelled.',
  keys: 'It is refused.',
};

function Restore({ what, name }: ChangeProps) {
  const [replay, setReplay] = useState(false);
  const write = useWrite(() => restore(what, { replay }), changes, {
    done: ({ changed }) =>
      toastSuccess(
        changed ? `${name} is restored.` : `${name} is suspended with its app: restore the app.`,
      ),
  });
  const hasDeliveries = what.kind === 'apps' || what.kind === 'webhooks';
  return (
    <Confirm
      button={{ children: 'Restore', size: 'xs', 'aria-label': `Restore ${name}` }}
      title={`Restore ${name}`}
      action="Restore"
      color="blue"
      write={write}
    >
      <Text size="sm">It works as before the suspension, within a second.</Text>
      {hasDeliveries && (
        <Checkbox
          label="Replay what the webhooks have missed"
          checked={replay}
          onChange={({ currentTarget }) => setReplay(currentTarget.checked)}
        />
      )}
    </Confirm>
  );
}
