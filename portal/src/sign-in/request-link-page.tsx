import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { requestPasswordLink } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { pageData } from '../page-data.ts';
import { describeError } from '../ui/describe-error.ts';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { Problem } from '../ui/problem.tsx';
import { AddressField, refuseAddress } from './address-field.tsx';
import { describeSentLink } from './sent-link.ts';
import { BusyButton } from '../ui/busy-button.tsx';

/** Sends a link that sets a password. Signing up and resetting a password are the same request. */
export function RequestLinkPage({
  title,
  lead,
  below,
  children,
}: {
  title: string;
  lead: string;
  below: ReactNode;
  /** Goes above the form. */
  children?: ReactNode;
}) {
  const [email, setEmail] = useState('');
  const [isSent, setIsSent] = useState(false);
  if (isSent) return <SentPage email={email} below={below} retry={() => setIsSent(false)} />;
  return (
    <SignedOutLayout title={title} below={below}>
      {children}
      {pageData.signInOptions.password.links === null ? (
        <Text size="sm">
          This service sends no mail, so it can't send you a link to set a password. Ask its
          operator for one: <Code>orgdir account link</Code> prints it.
        </Text>
      ) : (
        <RequestForm
          lead={lead}
          initialEmail={email}
          sent={(to) => {
            setEmail(to);
            setIsSent(true);
          }}
        />
      )}
    </SignedOutLayout>
  );
}

function RequestForm({
  lead,
  initialEmail,
  sent,
}: {
  lead: string;
  initialEmail: string;
  sent: (email: string) => void;
}) {
  const form = useForm({
    initialValues: { email: initialEmail },
    validate: { email: refuseAddress },
  });
  const requesting = useMutation({
    mutationFn: async (email: string) => {
      await requestPasswordLink(email);
      sent(email);
    },
    onError: (error) => form.setErrors(describeError(error).fields),
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        ({ email }) => requesting.mutate(email.trim()),
        focusFirstError(form),
      )}
    >
      <Stack>
        <Text size="sm">{lead}</Text>
        <AddressField {...form.getInputProps('email')} />
        {requesting.isError && <Problem error={requesting.error} />}
        <BusyButton type="submit" busy={requesting.isPending}>
          Send link
        </BusyButton>
      </Stack>
    </form>
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
