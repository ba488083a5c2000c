import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Page } from './page.tsx';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Text>
        There is no such page, or what it showed was deleted.{' '}
        <Anchor component={Link} to="/apps">
          Your apps
        </Anchor>
      </Text>
    </Page>
  );
}
