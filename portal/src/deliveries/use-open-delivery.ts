/** Keeps the delivery that is open beside the list in the address, so that it can be shared. */
import { useMediaQuery } from '@mantine/hooks';
import { useSearchParams } from 'react-router';
import type { PortalDelivery } from '../api/types.ts';

type Id = Pick<PortalDelivery, 'id' | 'webhookId'>;

/** Opens the first delivery of the list, if there is room beside the list. */
export const firstOpen = 'first';

export function useOpenDelivery(rows: PortalDelivery[]) {
  const [query, setQuery] = useSearchParams();
  const isWide = useMediaQuery('(width >= 62em)', true, { getInitialValueInEffect: false });
  const value = query.get('open');
  return {
    open: value === firstOpen ? (isWide && rows[0]) || null : readOpen(value),
    isFirst: value === firstOpen,
    /** The address of the list with this delivery open. Null on a narrow screen, which shows a delivery alone. */
    addressOf: (delivery: Id) => (isWide ? `?${withOpen(query, delivery)}` : null),
    close: () => setQuery((before) => withOpen(before, null), { replace: true }),
    /** Opens a neighbour, without a step for the Back button, and returns it. */
    move: (step: number): PortalDelivery | null => {
      // What is rendered may be one key behind the address.
      const now = new URLSearchParams(location.search);
      const named = now.get('open');
      const id = named === firstOpen ? rows[0]?.id : readOpen(named)?.id;
      const at = rows.findIndex((row) => row.id === id);
      const next = (at === -1 ? rows[0] : rows[at + step]) ?? null;
      if (next) setQuery(withOpen(now, next), { replace: true });
      return next;
    },
  };
}

function withOpen(query: URLSearchParams, delivery: Id | null): URLSearchParams {
  const after = new URLSearchParams(query);
  if (delivery === null) after.delete('open');
  else after.set('open', `${delivery.webhookId}/${delivery.id}`);
  return after;
}

function readOpen(value: string | null): Id | null {
  const [webhookId, id] = value?.split('/') ?? [];
  return webhookId && id ? { webhookId, id } : null;
}
