import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Page } from './page.tsx';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Text>
        This page doesn't exist, or its content was deleted.{' '}
        <Anchor component={Link} to="/apps">
          Your apps
        </Anchor>
      </Text>
    </Page>
  );
}
