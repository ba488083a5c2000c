import { Anchor, List, Paper, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

/** Shown instead of the charts if there were no deliveries for a day. */
export function NextSteps() {
  return (
    <Paper withBorder p="md" component="section" aria-label="Next steps">
      <Title order={2} size="h4" mb={4}>
        No deliveries in the last 24 hours
      </Title>
      <Text c="dimmed" mb="sm" maw="65ch">
        Webhooks notify your programs of changes in the directory. Set one up in three steps:
      </Text>
      <List type="ordered" spacing={4}>
        <List.Item>
          <Anchor component={Link} to="/apps">
            Create an app
          </Anchor>
          : keys and webhooks belong to it.
        </List.Item>
        <List.Item>Create a key for it, to read the directory over the API.</List.Item>
        <List.Item>
          Add a webhook and send it a test.{' '}
          <Anchor component={Link} to="/events">
            See the events
          </Anchor>
        </List.Item>
      </List>
    </Paper>
  );
}
