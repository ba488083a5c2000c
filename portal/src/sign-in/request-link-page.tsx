import { Button, Code, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { requestPasswordLink } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { pageData } from '../page-data.ts';
import { Form } from '../ui/form.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { describeSentLink } from './describe-sent-link.ts';
import { AddressField, validateAddress } from './fields.tsx';

export function ForgotPasswordPage() {
  return (
    <RequestLinkPage
      title="Reset your password"
      lead="Enter your email address to get a link that sets a new password."
      below={<PageLink to="/sign-in">Sign in</PageLink>}
    />
  );
}

type Props = {
  title: string;
  lead: string;
  below: ReactNode;
  /** Goes above the form. */
  children?: ReactNode;
};

/** Sends a link that sets a password. Signing up and resetting a password are the same request. */
export function RequestLinkPage({ title, lead, below, children }: Props) {
  const write = useMutation({
    mutationFn: ({ email }: { email: string }) => requestPasswordLink(email.trim()),
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { email: '' },
    validate: { email: validateAddress },
  });
  if (write.isSuccess)
    return <SentPage email={form.values.email.trim()} below={below} retry={write.reset} />;
  return (
    <SignedOutLayout title={title} below={below}>
      {children}
      {pageData.signInOptions.password.links === null ? (
        <NoMail />
      ) : (
        <Form {...formProps} action="Send link" layout="narrow">
          <Text size="sm">{lead}</Text>
          <AddressField {...form.getInputProps('email')} />
        </Form>
      )}
    </SignedOutLayout>
  );
}

export function NoMail() {
  return (
    <Text size="sm">
      This service sends no mail, so it can't send you a link to set a password. Ask its operator
      for one: <Code>orgdir accounts link</Code> prints it.
    </Text>
  );
}

/** Shown for every address, so that it does not reveal which ones have an account. */
function SentPage({ email, below, retry }: { email: string; below: ReactNode; retry: () => void }) {
  const { title, message } = describeSentLink(email);
  return (
    <SignedOutLayout title={title} below={below}>
      <Text>{message}</Text>
      <Group>
        <Button variant="default" size="xs" onClick={retry}>
          Send another link
        </Button>
      </Group>
    </SignedOutLayout>
  );
}
