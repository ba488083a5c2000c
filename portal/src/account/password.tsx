import { Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { accountMethods, changePassword, requestPasswordLink } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { pageData } from '../page-data.ts';
import { describeSentLink } from '../sign-in/describe-sent-link.ts';
import { NewPasswordField, PasswordField, validateNewPassword } from '../sign-in/fields.tsx';
import { BusyButton } from '../ui/busy-button.tsx';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWriteForm } from '../ui/use-write-form.ts';

export function Password({ email }: { email: string }) {
  const query = useQuery(accountMethods());
  return (
    <Section title="Password">
      <Loaded query={query}>
        {({ entries }) =>
          entries.some(({ provider }) => provider === 'credential') ? (
            <ChangePassword />
          ) : (
            <NoPassword email={email} />
          )
        }
      </Loaded>
    </Section>
  );
}

function ChangePassword() {
  const write = useWrite(changePassword, ['/session', '/account'], {
    done: () => {
      resetSent();
      toastSuccess('Password changed. You are signed out everywhere else.');
    },
  });
  const { form, formProps, resetSent } = useWriteForm(write, {
    initialValues: { currentPassword: '', newPassword: '' },
    validate: {
      currentPassword: (password) => (password === '' ? 'Enter your current password' : null),
      newPassword: validateNewPassword,
    },
  });
  return (
    <Form {...formProps} action="Change password" maw={400}>
      <PasswordField label="Current password" {...form.getInputProps('currentPassword')} />
      <NewPasswordField label="New password" {...form.getInputProps('newPassword')} />
      <Note>You will be signed out everywhere else.</Note>
    </Form>
  );
}

/** A link sets the first password, too. */
function NoPassword({ email }: { email: string }) {
  const write = useMutation({ mutationFn: () => requestPasswordLink(email) });
  const canRequest = pageData.signInOptions.password.links !== null && !email.endsWith('.invalid');
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">This account has no password.</Text>
      {canRequest && (
        <BusyButton variant="default" busy={write.isPending} onClick={() => write.mutate()}>
          Send a link to set one
        </BusyButton>
      )}
      <Text size="sm" role="status">
        {write.isSuccess && describeSentLink(email).message}
      </Text>
      {write.isError && <Problem error={write.error} />}
    </Stack>
  );
}
