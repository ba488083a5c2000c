import { Badge, Group, Text } from '@mantine/core';
import type { PortalSession } from '../api/types.ts';
import { Section } from '../shown/section.tsx';

/** By which everything that is theirs is found. */
export function Address({ user: { email, verified } }: { user: PortalSession['user'] }) {
  const isName = isProvidersName(email);
  return (
    <Section title={isName ? 'Your name at the provider' : 'Address'}>
      <Group gap="sm">
        <Text fw={600}>{email}</Text>
        {!isName && <Badge variant="default">{verified ? 'Confirmed' : 'Not confirmed'}</Badge>}
      </Group>
      <Text size="sm" c="dimmed" maw="70ch">
        {isName
          ? 'The provider that you sign in with does not vouch for an address of yours, so this stands in its place. Your apps belong to it, and an organisation can make it a manager.'
          : 'Your apps belong to it, and so do your roles as manager of organisations and alliances. It cannot be changed.'}
      </Text>
    </Section>
  );
}

/** What the service calls somebody whose provider vouches for no address. */
function isProvidersName(email: string): boolean {
  return email.endsWith('.invalid');
}
