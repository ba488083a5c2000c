import { Box, Group, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { changePassword } from '../api/operations.ts';
import type { PasswordChange } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { describeError } from '../ui/describe-error.ts';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { Problem } from '../ui/problem.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { NewPasswordField, PasswordField, refuseNewPassword } from '../sign-in/password-field.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

export function ChangePassword() {
  const form = useForm<PasswordChange>({
    initialValues: { currentPassword: '', newPassword: '' },
    validate: {
      currentPassword: (password) => (password === '' ? 'Enter your current password' : null),
      newPassword: refuseNewPassword,
    },
  });
  const changing = useWrite(changePassword, ['/session', '/account']);

  function change(given: PasswordChange): void {
    changing.mutate(given, {
      onSuccess: () => {
        form.reset();
        toastSuccess('Password changed. You are signed out everywhere else.');
      },
      onError: (error) => {
        if (!isWrongPassword(error)) return;
        form.setFieldError('currentPassword', 'The current password is wrong.');
        form.getInputNode('currentPassword')?.focus();
      },
    });
  }

  return (
    <Box
      component="form"
      maw={400}
      noValidate
      onSubmit={form.onSubmit(change, focusFirstError(form))}
    >
      <Stack>
        <PasswordField
          label="Current password"
          autoComplete="current-password"
          {...form.getInputProps('currentPassword')}
        />
        <NewPasswordField label="New password" {...form.getInputProps('newPassword')} />
        {changing.isError && !isWrongPassword(changing.error) && <Problem error={changing.error} />}
        <Text size="sm" c="dimmed">
          You will be signed out everywhere else.
        </Text>
        <Group>
          <BusyButton type="submit" variant="default" busy={changing.isPending}>
            Change password
          </BusyButton>
        </Group>
      </Stack>
    </Box>
  );
}

function isWrongPassword(error: Error): boolean {
  return 'currentPassword' in describeError(error).fields;
}
