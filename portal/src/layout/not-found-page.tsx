import { Text } from '@mantine/core';
import { isConsole } from '../page-data.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Page } from './page.tsx';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Text>
        This page doesn't exist, or its content was deleted.{' '}
        <PageLink to={isConsole ? '/' : '/apps'}>{isConsole ? 'Overview' : 'Your apps'}</PageLink>
      </Text>
    </Page>
  );
}
