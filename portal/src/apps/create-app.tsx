import { Modal } from '@mantine/core';
import { useNavigate } from 'react-router';
import { createApp } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { useOnce } from '../api/use-once.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { NameField, validateName } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Note } from '../ui/note.tsx';
import { useClosing } from '../ui/use-closing.ts';
import { useWriteForm } from '../ui/use-write-form.ts';

/** Creates an app and opens its page. */
export function CreateApp({ opened, close }: { opened: boolean; close: () => void }) {
  const navigate = useNavigate();
  const write = useWrite(useOnce(createApp), appChanges, {
    done: ({ id }) => void navigate(`/apps/${id}`),
  });
  const cancel = useClosing(() => {
    write.reset();
    close();
  });
  return (
    <Modal opened={opened} onClose={cancel} title="New app">
      <CreateAppForm write={write} cancel={cancel} />
    </Modal>
  );
}

type Props = {
  write: ReturnType<typeof useWrite<{ name: string }, PortalApp>>;
  cancel?: () => void;
};

/** A separate component, so that each opening starts with an empty field. */
export function CreateAppForm({ write, cancel }: Props) {
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name: '' },
    validate: { name: validateName },
  });
  return (
    <Form {...formProps} layout="dialog" action="Create app" {...(cancel && { cancel })}>
      <NameField
        description="For example, what the program does. Only its members see it, and you can change it later."
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Note>You can own up to ten apps.</Note>
    </Form>
  );
}
