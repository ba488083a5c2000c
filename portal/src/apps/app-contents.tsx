import { Button, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { PortalApp } from '../api/types.ts';
import { count } from './app-words.ts';

/** Shows the number of keys and webhooks, with the next step if there are none. */
export function AppContents({ app }: { app: PortalApp }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
      <Contents
        title="Keys"
        amount={count(app.keyCount, 'valid key')}
        isEmpty={app.keyCount === 0}
        what="A key lets your program call the API: read the directory, read events, manage webhooks."
        first="Create a key"
        more="View keys"
        to={`/apps/${app.id}/keys`}
      />
      <Contents
        title="Webhooks"
        amount={count(app.webhookCount, 'webhook')}
        isEmpty={app.webhookCount === 0}
        what="A webhook sends events to your server as they happen."
        first="Create a webhook"
        more="View webhooks"
        to={`/apps/${app.id}/webhooks`}
      />
    </SimpleGrid>
  );
}

function Contents({
  title,
  amount,
  isEmpty,
  what,
  first,
  more,
  to,
}: {
  title: string;
  amount: string;
  isEmpty: boolean;
  what: string;
  first: string;
  more: string;
  to: string;
}) {
  return (
    <Paper component="section" withBorder p={{ base: 'sm', sm: 'lg' }} aria-label={title}>
      <Stack gap="xs" align="flex-start" justify="space-between" h="100%">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          <Text>{amount[0]?.toUpperCase() + amount.slice(1)}</Text>
          {isEmpty && (
            <Text size="sm" c="dimmed" mt={4}>
              {what}
            </Text>
          )}
        </div>
        <Button component={Link} to={to} variant={isEmpty ? 'filled' : 'default'} size="xs">
          {isEmpty ? first : more}
        </Button>
      </Stack>
    </Paper>
  );
}
