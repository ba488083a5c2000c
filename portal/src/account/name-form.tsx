import { updateAccount } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { NameField, validateName } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWriteForm } from '../ui/use-write-form.ts';

export function NameForm({ name }: { name: string }) {
  const write = useWrite(updateAccount, ['/session', '/account'], {
    done: () => toastSuccess('Name changed.'),
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name },
    validate: { name: validateName },
  });
  return (
    <Section title="Name">
      <Form {...formProps} action="Change name" maw={400}>
        <NameField label={undefined} aria-label="Name" {...form.getInputProps('name')} />
      </Form>
    </Section>
  );
}
