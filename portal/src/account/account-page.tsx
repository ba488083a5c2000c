import { Text } from '@mantine/core';
import { Page } from '../layout/page.tsx';
import { useSession } from '../session/use-session.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { Activity } from './activity.tsx';
import { Methods } from './methods.tsx';
import { NameForm } from './name-form.tsx';
import { Password } from './password.tsx';
import { Sessions } from './sessions.tsx';

export function AccountPage() {
  const { data: session } = useSession();
  if (!session) return null;
  const { name, email } = session.user;
  return (
    <Page
      title="Your account"
      lead="Your name, how you sign in, and what happened to your account."
    >
      <Address email={email} />
      <NameForm name={name} />
      <Methods />
      <Password email={email} />
      <Sessions />
      <Activity />
    </Page>
  );
}

/** The address that the user's apps belong to. */
function Address({ email }: { email: string }) {
  // The service generates such an address if the provider confirms none.
  const isName = email.endsWith('.invalid');
  return (
    <Section title={isName ? 'Your name at the provider' : 'Email address'}>
      <Text fw={600}>{email}</Text>
      <Note maw="70ch">
        {isName
          ? 'The provider that you sign in with confirms no email address, so this name identifies you. Your apps belong to it, and an organisation can make it a manager. It cannot be changed.'
          : 'Your apps belong to this address, and so do your manager roles in organisations and alliances. It cannot be changed.'}
      </Note>
    </Section>
  );
}
