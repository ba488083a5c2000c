import { Modal } from '@mantine/core';
import { useNavigate } from 'react-router';
import { createApp } from '../api/operations.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { NameField, validateName } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Note } from '../ui/note.tsx';
import { useIsMounted } from '../ui/use-is-mounted.ts';
import { useWriteForm } from '../ui/use-write-form.ts';

/** Creates an app and opens its page. */
export function CreateApp({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="New app">
      <CreateAppForm close={close} />
    </Modal>
  );
}

/** A separate component, so that each opening starts with an empty field. */
function CreateAppForm({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const isOpen = useIsMounted();
  const write = useWrite(createApp, appChanges, {
    done({ id }) {
      if (isOpen()) void navigate(`/apps/${id}`);
    },
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name: '' },
    validate: { name: validateName },
  });
  return (
    <Form {...formProps} layout="dialog" action="Create app" cancel={close}>
      <NameField
        description="For example, what the program does. Only you see it, and you can change it later."
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Note>You can have up to ten apps.</Note>
    </Form>
  );
}
