import { Divider, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { completeSignIn } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { useRefreshSession } from '../session/use-session.ts';
import { PasskeyButton } from '../sign-in/passkey-button.tsx';
import { Form } from '../ui/form.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { CodeField, codeForm } from './code-field.tsx';
import { canUsePasskeys } from './passkey-device.ts';
import { SignOutLink } from './sign-out-link.tsx';

/** Completes a sign-in to an account that has a second factor. */
export function SecondFactorPage() {
  const refresh = useRefreshSession();
  const write = useMutation({
    mutationFn: async (body: { code: string }) => {
      await completeSignIn(body);
      await refresh();
    },
  });
  const { form, formProps } = useWriteForm(write, codeForm);
  return (
    <SignedOutLayout title="Confirm your sign-in" below={<SignOutLink />}>
      <Text size="sm">Your account has a second factor.</Text>
      {canUsePasskeys && (
        <>
          <PasskeyButton>Use a passkey</PasskeyButton>
          <Divider label="or with a code" />
        </>
      )}
      <Form {...formProps} action="Confirm" layout="narrow">
        <CodeField
          label="Code"
          description="From your authenticator app, or a recovery code"
          {...form.getInputProps('code')}
        />
      </Form>
    </SignedOutLayout>
  );
}
