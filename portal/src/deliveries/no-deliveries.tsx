import { Button, Stack } from '@mantine/core';
import { testWebhook, type WebhookId } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Empty } from '../ui/empty.tsx';
import { useMoveFocusAfter } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { PastLastPage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { isFiltered, noFilters, type Filters } from './filters.ts';

type Props = {
  id: WebhookId;
  total: number;
  filters: Filters;
  changeAndFocus: (some: Partial<Filters>) => void;
  focus: () => void;
};

export function NoDeliveries({ id, total, filters, changeAndFocus, focus }: Props) {
  if (total > 0) return <PastLastPage go={(page) => changeAndFocus({ page })} />;
  if (!isFiltered(filters)) return <NothingYet id={id} focus={focus} />;
  return (
    <Empty
      title="Nothing matches these filters"
      action={<Button onClick={() => changeAndFocus(noFilters)}>Clear filters</Button>}
    >
      No deliveries have this status, event and time.
    </Empty>
  );
}

function NothingYet({ id, focus }: { id: WebhookId; focus: () => void }) {
  const button = useMoveFocusAfter(focus);
  const page = `/apps/${id.appId}/webhooks/${id.webhookId}`;
  const mayTest = can(useApp(), 'changeWebhooks');
  const test = useWrite(() => testWebhook(id, null), [page]);
  return (
    <Empty
      title="No deliveries yet"
      action={
        mayTest && (
          <Stack gap="sm" align="flex-start">
            {test.isError && <Problem error={test.error} />}
            <BusyButton ref={button} busy={test.isPending} onClick={() => test.mutate(undefined)}>
              Send a test
            </BusyButton>
          </Stack>
        )
      }
    >
      Every event sent to this webhook appears here, with all attempts and responses.{' '}
      {mayTest && 'Send a test to see one now. '}
      It waits for <PageLink to={`/events?app=${id.appId}`}>the events</PageLink> that the app can
      get.
    </Empty>
  );
}
