import { Text } from '@mantine/core';
import { Section } from '../ui/section.tsx';

/** The address that the user's apps belong to. */
export function Address({ email }: { email: string }) {
  // The service generates such an address if the provider confirms none.
  const isName = email.endsWith('.invalid');
  return (
    <Section title={isName ? 'Your name at the provider' : 'Email address'}>
      <Text fw={600}>{email}</Text>
      <Text size="sm" c="dimmed" maw="70ch">
        {isName
          ? 'The provider that you sign in with confirms no email address, so this name identifies you. Your apps belong to it, and an organisation can make it a manager. It cannot be changed.'
          : 'Your apps belong to this address, and so do your manager roles in organisations and alliances. It cannot be changed.'}
      </Text>
    </Section>
  );
}
