import { Anchor, Box, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { PortalApp } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { count, subjectWords } from './app-words.ts';

export function AppList({ apps }: { apps: PortalApp[] }) {
  return (
    <SimpleGrid
      component="ul"
      cols={{ base: 1, sm: 2 }}
      spacing="md"
      m={0}
      p={0}
      style={{ listStyle: 'none' }}
    >
      {apps.map((app) => (
        <Paper key={app.id} component="li" withBorder p="md">
          <OneApp app={app} />
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function OneApp({ app }: { app: PortalApp }) {
  return (
    <Stack gap="xs" justify="space-between" h="100%">
      <Box>
        <Title order={2} size="h4">
          <Anchor component={Link} to={`/apps/${app.id}`} inherit>
            {app.name}
          </Anchor>
        </Title>
        <Text size="sm">
          {app.binding
            ? `Bound to ${app.binding.name} (${subjectWords[app.binding.kind]})`
            : 'Not bound'}
        </Text>
      </Box>
      <Text size="sm" c="dimmed">
        {count(app.keyCount, 'key')} · {count(app.webhookCount, 'webhook')} · created{' '}
        <Time at={app.createdAt} />
      </Text>
    </Stack>
  );
}
