import { Group, Text, TextInput } from '@mantine/core';
import { RemoveSignIn } from '../account/remove-sign-in.tsx';
import { removePasskey, updatePasskey } from '../api/operations.ts';
import type { Passkey } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Form } from '../ui/form.tsx';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWriteForm } from '../ui/use-write-form.ts';

/** `removed` moves the focus, because the button is gone. */
export function Passkeys({ passkeys, removed }: { passkeys: Passkey[]; removed: () => void }) {
  if (passkeys.length === 0) return <Text size="sm">You have no passkeys.</Text>;
  return (
    <ul className="plain-list">
      {passkeys.map((passkey) => (
        <Group key={passkey.id} component="li" justify="space-between" gap="sm">
          <div>
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {passkey.name}
            </Text>
            <Note>
              Added <Time at={passkey.createdAt} />
              {passkey.lastUsedAt ? (
                <>
                  {' · last used '}
                  <Time at={passkey.lastUsedAt} />
                </>
              ) : (
                ' · never used'
              )}
            </Note>
          </div>
          <Group gap="xs">
            <RenamePasskey passkey={passkey} />
            <RemoveSignIn
              name={passkey.name}
              remove={() => removePasskey(passkey.id)}
              removed={removed}
            >
              You will no longer be able to sign in with it, and you will be signed out everywhere
              else.
            </RemoveSignIn>
          </Group>
        </Group>
      ))}
    </ul>
  );
}

function RenamePasskey({ passkey: { id, name } }: { passkey: Passkey }) {
  const label = `Rename ${name}`;
  return (
    <DialogButton button={{ size: 'xs', 'aria-label': label, children: 'Rename' }} title={label}>
      {(cancel, close) => <RenameForm id={id} name={name} cancel={cancel} close={close} />}
    </DialogButton>
  );
}

type RenameProps = { id: string; name: string; cancel: () => void; close: () => void };

function RenameForm({ id, name, cancel, close }: RenameProps) {
  const write = useWrite(
    (changes: { name: string }) => updatePasskey(id, { name: changes.name.trim() }),
    ['/account'],
    {
      done: () => {
        toastSuccess('Passkey renamed.');
        close();
      },
    },
  );
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name },
    validate: { name: (given) => (given.trim() === '' ? 'Enter a name' : null) },
  });
  return (
    <Form {...formProps} action="Rename" layout="dialog" cancel={cancel}>
      <TextInput label="Name" maxLength={100} data-autofocus {...form.getInputProps('name')} />
    </Form>
  );
}
