import { List } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { apps, overview } from '../api/operations.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { AppAtAGlance } from './app-at-a-glance.tsx';
import { NeedsAttention } from './attention.tsx';

/** The polling interval while the page is visible. */
const refreshMs = 30_000;

export function OverviewPage() {
  const query = useQuery({ ...overview(), refetchInterval: refreshMs });
  const ownApps = useQuery(apps());
  return (
    <Page title="Overview" lead="Failing webhooks, expiring keys and recent deliveries.">
      <Loaded query={query}>{(data) => <NeedsAttention {...data} />}</Loaded>
      <Loaded query={ownApps}>
        {({ entries }) =>
          entries.some(({ webhookCount }) => webhookCount > 0) ? (
            <AppAtAGlance apps={entries} />
          ) : (
            <NextSteps />
          )
        }
      </Loaded>
    </Page>
  );
}

function NextSteps() {
  return (
    <Section
      title="No webhooks yet"
      lead="Webhooks notify your programs of changes in the directory. Set one up in three steps:"
    >
      <List type="ordered" spacing={4}>
        <List.Item>
          <PageLink to="/apps">Create an app</PageLink>: keys and webhooks belong to it.
        </List.Item>
        <List.Item>Create a key for it, to read the directory over the API.</List.Item>
        <List.Item>
          Add a webhook and send it a test. <PageLink to="/events">See the events</PageLink>
        </List.Item>
      </List>
    </Section>
  );
}
