/** Keeps a list that grows at the top steady while somebody reads it. */
import { useEffect, useState } from 'react';
import type { PortalDelivery } from '../api/types.ts';

type Steady = {
  rows: PortalDelivery[];
  /** The number of new rows that are not shown yet. */
  waiting: number;
  show: () => void;
};

/**
 * Shows new rows at once, unless `mayMove` says that somebody is using the list. Then the visible rows keep their place and
 * only update their status, and new rows wait.
 */
export function useSteadyRows({
  fresh,
  readAt,
  scope,
  mayMove,
}: {
  fresh: PortalDelivery[];
  /** The time of the read. Each read checks again, even if the rows are the same. */
  readAt: number;
  /** The filters. If they change, all rows are replaced. */
  scope: string;
  mayMove: () => boolean;
}): Steady {
  const [shown, setShown] = useState({ scope, rows: fresh });
  useEffect(() => {
    setShown((before) => {
      const isKept = before.scope === scope && before.rows.length > 0 && !mayMove();
      const rows = isKept ? renew(before.rows, fresh) : fresh;
      return before.scope === scope && isSame(before.rows, rows) ? before : { scope, rows };
    });
    // `mayMove` is read when the effect runs and must not trigger it.
  }, [fresh, readAt, scope]);
  const rows = shown.scope === scope ? shown.rows : fresh;
  return {
    rows,
    waiting: countNewer(fresh, rows[0]?.id ?? ''),
    show: () => setShown({ scope, rows: fresh }),
  };
}

/** Ids are UUIDv7 of equal length, so their text order is their time order. */
export function countNewer(deliveries: Pick<PortalDelivery, 'id'>[], id: string): number {
  return deliveries.filter((delivery) => delivery.id > id).length;
}

function renew(rows: PortalDelivery[], fresh: PortalDelivery[]): PortalDelivery[] {
  const now = new Map(fresh.map((delivery) => [delivery.id, delivery]));
  return rows.map((row) => now.get(row.id) ?? row);
}

function isSame(some: PortalDelivery[], others: PortalDelivery[]): boolean {
  return some.length === others.length && some.every((row, index) => row === others[index]);
}
