import { Box, Button, Group, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ApiError } from '@orgdir/client';
import { useWrite } from '../api/use-write.ts';
import { focusFirstError } from '../shown/focus-first-error.ts';
import { Problem } from '../shown/problem.tsx';
import { sayDone } from '../shown/say.ts';
import { NewPasswordField, PasswordField, refuseNewPassword } from '../sign-in/password-field.tsx';
import { wordsOf } from '../sign-in/words.ts';
import { changePassword, sessionsPath } from './account.ts';

const none = { current: '', chosen: '' };

export function ChangePassword() {
  const form = useForm({
    initialValues: none,
    validate: {
      current: (password) => (password === '' ? 'Give your current password' : null),
      chosen: refuseNewPassword,
    },
  });
  const changing = useWrite(
    ({ current, chosen }: typeof none) => changePassword(current, chosen),
    ['/session', sessionsPath],
  );

  function change(given: typeof none): void {
    changing.mutate(given, {
      onSuccess: () => {
        form.reset();
        sayDone('Your password is changed. All your other sessions were signed out.');
      },
      onError: (error) => {
        if (!isWrong(error)) return;
        form.setFieldError('current', wordsOf(error.code));
        form.getInputNode('current')?.focus();
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
          {...form.getInputProps('current')}
        />
        <NewPasswordField label="New password" {...form.getInputProps('chosen')} />
        {changing.isError && !isWrong(changing.error) && <Problem error={changing.error} />}
        <Text size="sm" c="dimmed">
          Wherever else you are signed in, you are signed out.
        </Text>
        <Group>
          <Button type="submit" variant="default" loading={changing.isPending}>
            Change password
          </Button>
        </Group>
      </Stack>
    </Box>
  );
}

function isWrong(error: Error): error is ApiError {
  return error instanceof ApiError && error.code === 'INVALID_PASSWORD';
}
