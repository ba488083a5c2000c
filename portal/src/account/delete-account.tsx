import { Button, Checkbox, List, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link, useNavigate } from 'react-router';
import { accountDeletion, deleteAccount } from '../api/operations.ts';
import type { AccountDeletion } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { useEndSession, useSession } from '../session/use-session.ts';
import { Form, type Write } from '../ui/form.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';

/** Links to the page that shows what goes with the account. */
export function DeleteAccount() {
  return (
    <Section
      title="Delete your account"
      lead="The next page shows what is deleted with it, and asks you to confirm."
    >
      <div>
        <Button component={Link} to="/account/delete" variant="outline" color="red">
          Delete account
        </Button>
      </div>
    </Section>
  );
}

export function DeleteAccountPage() {
  const { data: session } = useSession();
  const query = useQuery(accountDeletion());
  const endSession = useEndSession();
  const navigate = useNavigate();
  // Outlives the form, which begins anew when the apps have changed meanwhile, so that the error says so.
  const write = useMutation({
    mutationFn: deleteAccount,
    onSuccess: () => {
      toastSuccess('Account deleted.');
      endSession();
      void navigate('/sign-in', { replace: true });
    },
    onError: () => void query.refetch(),
  });
  if (!session) return null;
  const { email } = session.user;
  return (
    <Page
      title="Delete your account"
      lead="This can't be undone."
      crumbs={[{ title: 'Your account', to: '/account' }]}
    >
      <Loaded query={query}>
        {(deletion) => (
          <>
            <Losses deletion={deletion} />
            {/* The key asks again if the apps have changed meanwhile. */}
            <Confirmation
              key={idsOf(deletion).join()}
              email={email}
              deletion={deletion}
              write={write}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function idsOf({ appsToDelete }: AccountDeletion): string[] {
  return appsToDelete.map(({ id }) => id);
}

function Losses({ deletion }: { deletion: AccountDeletion }) {
  const { appsToDelete, appsToLeave, endingBindings, managed, managedCount } = deletion;
  const more = managedCount - managed.length;
  return (
    <Section title="What goes with it">
      <Text size="sm">
        Your sessions, your ways to sign in and your invitations. The audit log keeps its entries.
      </Text>
      <Losing title="Apps that are deleted" names={appsToDelete.map(describeApp)}>
        Nobody else owns them. To keep an app, first make another member an owner.
      </Losing>
      <Losing
        title="Apps that you leave"
        names={appsToLeave.map(({ name, role }) => `${name}, as ${role}`)}
      >
        They stay with their other owners. A suspended app without another owner stays with your
        address.
      </Losing>
      <Losing
        title="Bindings that end"
        names={endingBindings.map(({ appName, name }) => `${appName} to ${name}`)}
      >
        You made them.
      </Losing>
      <Losing
        title="Organisations and alliances that you manage"
        names={[...managed.map(({ name }) => name), ...(more > 0 ? [`${more} more`] : [])]}
      >
        They keep your address as a manager until they remove it.
      </Losing>
    </Section>
  );
}

function Losing({
  title,
  names,
  children,
}: {
  title: string;
  names: string[];
  children: ReactNode;
}) {
  if (names.length === 0) return null;
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">
        {title}
      </Title>
      <Text size="sm">{children}</Text>
      <List size="sm">
        {names.map((name, index) => (
          <List.Item key={index} style={{ overflowWrap: 'anywhere' }}>
            {name}
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}

/** The service counts no further. */
const pendingCountMax = 10_000;

function describeApp(app: AccountDeletion['appsToDelete'][number]): string {
  const { name, keyCount, webhookCount, pendingDeliveryCount, otherMemberCount } = app;
  const orMore = pendingDeliveryCount >= pendingCountMax ? ' or more' : '';
  const parts = [
    keyCount > 0 && formatCount(keyCount, 'valid key'),
    webhookCount > 0 && formatCount(webhookCount, 'webhook'),
    pendingDeliveryCount > 0 && `${formatCount(pendingDeliveryCount, 'waiting delivery')}${orMore}`,
    otherMemberCount > 0 && formatCount(otherMemberCount, 'other member'),
  ].filter((part) => part !== false);
  return parts.length === 0 ? name : `${name}, with ${parts.join(', ')}`;
}

type Props = {
  email: string;
  deletion: AccountDeletion;
  write: Write & { mutate: (deletion: Parameters<typeof deleteAccount>[0]) => void };
};

function Confirmation({ email, deletion, write }: Props) {
  const [typed, setTyped] = useState('');
  const [agrees, setAgrees] = useState(false);
  const apps = idsOf(deletion);
  const isConfirmed = typed.trim().toLowerCase() === email && (agrees || apps.length === 0);
  return (
    <Section title="Confirm">
      <Form
        submit={() => write.mutate({ email, apps })}
        write={write}
        action="Delete account"
        color="red.9"
        disabled={!isConfirmed}
        maw={400}
      >
        {apps.length > 0 && (
          <Checkbox
            label={`Delete ${apps.length === 1 ? 'the app' : `the ${apps.length} apps`} without another owner`}
            checked={agrees}
            onChange={(event) => setAgrees(event.currentTarget.checked)}
          />
        )}
        <TextInput
          label={`Type “${email}” to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
        />
      </Form>
      <Text size="sm">
        <PageLink to="/account">Keep your account</PageLink>
      </Text>
    </Section>
  );
}
