import { Button, Stack } from '@mantine/core';
import { testWebhook, type DeliveryScope, type WebhookId } from '../api/operations.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Empty } from '../ui/empty.tsx';
import { useMoveFocusAfter } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { PastLastPage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { countFilters, noFilters, type Filters } from './filters.ts';

type Props = {
  scope: DeliveryScope;
  total: number;
  filters: Filters;
  changeAndFocus: (some: Partial<Filters>) => void;
  focus: () => void;
};

export function NoDeliveries({ scope, total, filters, changeAndFocus, focus }: Props) {
  if (total > 0) return <PastLastPage go={(page) => changeAndFocus({ page })} />;
  if (countFilters(filters) === 0) return <NothingYet scope={scope} focus={focus} />;
  return (
    <Empty
      title="Nothing matches these filters"
      action={<Button onClick={() => changeAndFocus(noFilters)}>Clear filters</Button>}
    >
      No stored delivery has all of these properties.
    </Empty>
  );
}

function NothingYet({ scope: { appId, webhookId }, focus }: Pick<Props, 'scope' | 'focus'>) {
  const mayTest = can(useApp(), 'changeWebhooks');
  return (
    <Empty
      title="No deliveries yet"
      action={
        webhookId !== null && mayTest && <FirstTest id={{ appId, webhookId }} focus={focus} />
      }
    >
      Every event sent to a webhook appears here, with all attempts and responses. See{' '}
      <PageLink to={`/events?app=${appId}`}>the events</PageLink> that the app can get.
    </Empty>
  );
}

function FirstTest({ id, focus }: { id: WebhookId; focus: () => void }) {
  const button = useMoveFocusAfter(focus);
  const test = useWrite(() => testWebhook(id, null), appChanges);
  return (
    <Stack gap="sm" align="flex-start">
      {test.isError && <Problem error={test.error} />}
      <BusyButton ref={button} busy={test.isPending} onClick={() => test.mutate(undefined)}>
        Send a test
      </BusyButton>
    </Stack>
  );
}
