import { List, SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { overview } from '../api/operations.ts';
import type { Overview } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { ExpiringKeys, TroubledWebhooks } from './attention.tsx';
import { DeliveriesOfTheDay } from './deliveries-of-the-day.tsx';

/** The polling interval while the page is visible. */
const refreshMs = 30_000;

export function OverviewPage() {
  const query = useQuery({ ...overview(), refetchInterval: refreshMs });
  return (
    <Page title="Overview" lead="What needs attention, and deliveries in the last 24 hours.">
      <Loaded query={query}>
        {({ webhooks, keys, deliveries }) => (
          <>
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              <TroubledWebhooks webhooks={webhooks} />
              <ExpiringKeys keys={keys} />
            </SimpleGrid>
            {hasAny(deliveries) ? <DeliveriesOfTheDay deliveries={deliveries} /> : <NextSteps />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function hasAny({ hours }: Overview['deliveries']): boolean {
  return hours.some(({ succeeded, failed, pending }) => succeeded + failed + pending > 0);
}

function NextSteps() {
  return (
    <Section
      title="No deliveries in the last 24 hours"
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
