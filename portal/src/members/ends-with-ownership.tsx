import { List } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { invitations } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { formatCount } from '../ui/format-count.ts';

/** Lists what ends when a member stops being an owner: the binding and the invitations that they made. */
export function EndsWithOwnership({ app, email }: { app: PortalApp; email: string }) {
  const sent = useQuery(invitations(app.id)).data?.entries ?? [];
  const sentCount = sent.filter(({ invitedBy }) => invitedBy === email).length;
  const ends: string[] = [];
  if (app.binding?.boundBy === email)
    ends.push(
      `The binding to ${app.binding.name} ends. Its internal events are no longer sent, and pending deliveries of them are cancelled. Another owner who manages it can bind the app again.`,
    );
  if (sentCount > 0)
    ends.push(`${formatCount(sentCount, 'pending invitation')} can no longer be accepted.`);
  if (ends.length === 0) return null;
  return (
    <List size="sm">
      {ends.map((each) => (
        <List.Item key={each}>{each}</List.Item>
      ))}
    </List>
  );
}
