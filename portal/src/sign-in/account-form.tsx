/** What a new account is made of: who somebody is, and what they sign in with. */
import { Button, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { focusFirstError } from '../shown/focus-first-error.ts';
import { describeError } from '../shown/describe-error.ts';
import { Problem } from '../shown/problem.tsx';
import { AddressField, refuseAddress } from './address-field.tsx';
import { NewPasswordField, refuseNewPassword } from './password-field.tsx';

export type Account = { name: string; email: string; password: string };

/** As the service has it. */
export const nameLengthMax = 100;

export function AccountForm({ make }: { make: (account: Account) => Promise<unknown> }) {
  const form = useForm<Account>({
    initialValues: { name: '', email: '', password: '' },
    validate: { name: refuseName, email: refuseAddress, password: refuseNewPassword },
  });
  const making = useMutation({
    mutationFn: make,
    onError: (error) => form.setErrors(describeError(error).fields),
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        (account) =>
          making.mutate({ ...account, name: account.name.trim(), email: account.email.trim() }),
        focusFirstError(form),
      )}
    >
      <Stack>
        <TextInput
          label="Name"
          description="What to call you here"
          autoComplete="name"
          maxLength={nameLengthMax}
          {...form.getInputProps('name')}
        />
        <AddressField {...form.getInputProps('email')} />
        <NewPasswordField label="Password" {...form.getInputProps('password')} />
        {making.isError && <Problem error={making.error} />}
        <Button type="submit" loading={making.isPending}>
          Create the account
        </Button>
      </Stack>
    </form>
  );
}

export function refuseName(name: string): string | null {
  return name.trim() === '' ? 'Give a name' : null;
}
