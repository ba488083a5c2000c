/** A list that grows at its top while somebody reads it. */
import { useEffect, useState } from 'react';
import type { Delivery } from '../api/types.ts';

type Steady = {
  rows: Delivery[];
  /** How many new ones are held back. */
  waiting: number;
  show: () => void;
};

/**
 * New rows come by themselves, unless somebody is in the middle of the list: then nothing moves below their eyes or
 * their focus. The rows that they see go on telling what became of them, and the new ones wait.
 */
export function useSteadyRows({
  fresh,
  readAt,
  scope,
  mayMove,
}: {
  fresh: Delivery[];
  /** When they were read: they are looked at anew each time. */
  readAt: number;
  /** What was asked for; with another question everything may move. */
  scope: string;
  mayMove: () => boolean;
}): Steady {
  const [shown, setShown] = useState({ scope, rows: fresh });
  useEffect(() => {
    setShown((before) => ({
      scope,
      rows:
        before.scope === scope && before.rows.length > 0 && !mayMove()
          ? renew(before.rows, fresh)
          : fresh,
    }));
    // Whether it may move is asked at this moment; it is not what this waits for.
  }, [fresh, readAt, scope]);
  const rows = shown.scope === scope ? shown.rows : fresh;
  return {
    rows,
    waiting: countNewer(fresh, rows[0]?.id ?? ''),
    show: () => setShown({ scope, rows: fresh }),
  };
}

/** Ids begin with the time and are of one length, so that their order as text is that of time. */
export function countNewer(deliveries: Delivery[], id: string): number {
  return deliveries.filter((delivery) => delivery.id > id).length;
}

function renew(rows: Delivery[], fresh: Delivery[]): Delivery[] {
  const now = new Map(fresh.map((delivery) => [delivery.id, delivery]));
  return rows.map((row) => now.get(row.id) ?? row);
}
