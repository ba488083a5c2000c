import { Text } from '@mantine/core';
import { defaultQuotas } from '../../../service/src/contract/quotas.ts';
import type { PortalApp } from '../api/types.ts';
import { PageLink } from '../ui/page-link.tsx';

export function webhooksMax(app: PortalApp | undefined): number {
  return app?.quotas?.webhooks ?? defaultQuotas.webhooks;
}

/** `list`: where to delete one, if that is elsewhere. */
export function NoRoom({ total, max, list }: { total: number; max: number; list?: string }) {
  return (
    <Text size="sm">
      This app has {total} webhooks and can have {max}.{' '}
      {list === undefined ? 'Delete one' : <PageLink to={list}>Delete one</PageLink>} to make room
      for another.
    </Text>
  );
}
