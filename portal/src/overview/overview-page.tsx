import { SimpleGrid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { overview } from '../api/operations.ts';
import type { Overview } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { DeliveriesOfTheDay } from './deliveries-of-the-day.tsx';
import { ExpiringKeys } from './expiring-keys.tsx';
import { NextSteps } from './next-steps.tsx';
import { TroubledWebhooks } from './troubled-webhooks.tsx';

/** The polling interval while the page is visible. */
const refreshMs = 30_000;

export function OverviewPage() {
  const query = useQuery({ ...overview(), refetchInterval: refreshMs });
  return (
    <Page title="Overview" lead="What needs attention, and deliveries in the last 24 hours.">
      <Loaded query={query}>{(data) => <Parts data={data} />}</Loaded>
    </Page>
  );
}

function Parts({ data }: { data: Overview }) {
  const wasQuiet = data.deliveries.hours.every(
    ({ succeeded, failed, pending }) => succeeded + failed + pending === 0,
  );
  return (
    <Stack gap="xl">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <TroubledWebhooks webhooks={data.webhooks} />
        <ExpiringKeys keys={data.keys} />
      </SimpleGrid>
      {wasQuiet ? <NextSteps /> : <DeliveriesOfTheDay deliveries={data.deliveries} />}
    </Stack>
  );
}
