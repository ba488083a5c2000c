import { useQuery } from '@tanstack/react-query';
import { apps, overview } from '../api/operations.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { AppAtAGlance, refreshMs } from './app-at-a-glance.tsx';
import { FirstSteps } from './first-steps.tsx';
import { NeedsAttention } from './attention.tsx';

export function OverviewPage() {
  const query = useQuery({ ...overview(), refetchInterval: refreshMs });
  const ownApps = useQuery(apps());
  return (
    <Page title="Overview" lead="Failing webhooks, expiring keys and recent deliveries.">
      <Loaded query={query}>{(data) => <NeedsAttention {...data} />}</Loaded>
      <FirstSteps />
      <Loaded query={ownApps}>
        {({ entries }) =>
          entries.some(({ webhookCount }) => webhookCount > 0) ? (
            <AppAtAGlance apps={entries} />
          ) : null
        }
      </Loaded>
    </Page>
  );
}
