import { useEffect } from 'react';
import { updateApp } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { NameField, validateName } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWriteForm } from '../ui/use-write-form.ts';

export function RenameApp({ app: { id, name } }: { app: PortalApp }) {
  const write = useWrite((changes: { name: string }) => updateApp(id, changes), appChanges, {
    done: (renamed) => {
      form.resetDirty();
      toastSuccess(`App renamed to ${renamed.name}.`);
    },
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name },
    validate: { name: validateName },
  });
  // Until somebody types, the field follows the app's name, even if it changes elsewhere.
  useEffect(() => {
    if (form.isDirty()) return;
    form.setInitialValues({ name });
    form.reset();
  }, [name]);
  return (
    <Section title="Rename this app">
      <Form {...formProps} action="Save name" maw="30rem">
        <NameField
          description="Only its members see it."
          autoComplete="off"
          required
          {...form.getInputProps('name')}
        />
      </Form>
    </Section>
  );
}
