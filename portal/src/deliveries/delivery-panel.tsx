import { CloseButton, Group, Paper, Stack, Title } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { DeliveryId } from '../api/operations.ts';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import type { FromList } from './delivery-table.tsx';
import { DeliveryView, useDelivery } from './delivery-view.tsx';
import classes from './split.module.css';

type Props = {
  id: DeliveryId;
  from: FromList;
  /** Whether the page scrolls to it, for somebody who followed a link to it. */
  scrolls: boolean;
  close: () => void;
};

/** A delivery beside the list. */
export function DeliveryPanel({ id, from, scrolls, close }: Props) {
  const query = useDelivery(id);
  const panel = useRef<HTMLDivElement>(null);
  const isShown = query.data !== undefined;
  useEffect(() => {
    if (scrolls && isShown) panel.current?.scrollIntoView();
  }, [scrolls, isShown]);
  const title = query.data ? `Delivery of ${query.data.event}` : 'Delivery';
  const page = `/apps/${id.appId}/webhooks/${id.webhookId}/deliveries/${id.deliveryId}`;
  return (
    <Paper
      component="section"
      ref={panel}
      aria-label={title}
      withBorder
      p="md"
      tabIndex={-1}
      className={classes['panel'] ?? ''}
    >
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap">
          <Title order={2} size="h5">
            <PageLink to={page} state={from}>
              {title}
            </PageLink>
          </Title>
          <CloseButton aria-label="Close the delivery" onClick={close} />
        </Group>
        <Loaded query={query}>
          {(delivery) => <DeliveryView id={id} delivery={delivery} order={3} />}
        </Loaded>
      </Stack>
    </Paper>
  );
}
