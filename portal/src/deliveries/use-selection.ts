import { useState } from 'react';
import type { PortalDelivery } from '../api/types.ts';

export type Selection = {
  /** The selected rows, in the order of the list. */
  ids: string[];
  hasAll: boolean;
  /** False if no row can be selected. */
  isPossible: boolean;
  mayBe: (delivery: PortalDelivery) => boolean;
  /** With Shift, all rows between this and the last one. */
  toggle: (id: string, withShift: boolean) => void;
  toggleAll: () => void;
  /** Keeps what was selected since. */
  remove: (ids: string[]) => void;
  clear: () => void;
};

/** Selects rows of a list to redeliver them. A change of `scope` clears the selection. */
export function useSelection(rows: PortalDelivery[], scope: string): Selection {
  const [state, setState] = useState({ scope, chosen: new Set<string>(), last: '' });
  const chosen = state.scope === scope ? state.chosen : new Set<string>();
  const possible = rows.filter(mayBeRedelivered).map(({ id }) => id);
  const ids = possible.filter((id) => chosen.has(id));
  const choose = (next: Iterable<string>, last = '') =>
    setState({ scope, chosen: new Set(next), last });
  return {
    ids,
    hasAll: ids.length > 0 && ids.length === possible.length,
    isPossible: possible.length > 0,
    mayBe: mayBeRedelivered,
    toggle(id, withShift) {
      const range = withShift ? between(possible, state.last, id) : [id];
      const isOn = !chosen.has(id);
      choose(
        possible.filter((each) => (range.includes(each) ? isOn : chosen.has(each))),
        id,
      );
    },
    toggleAll: () => choose(ids.length === possible.length ? [] : possible),
    remove: (removed) =>
      setState((now) => ({
        ...now,
        chosen: new Set([...now.chosen].filter((id) => !removed.includes(id))),
      })),
    clear: () => choose([]),
  };
}

/** Pending deliveries are in flight, and a test cannot be repeated. */
function mayBeRedelivered({ status, event }: PortalDelivery): boolean {
  return status !== 'pending' && event !== 'webhook.test' && event !== 'webhook.probe';
}

function between(ids: string[], from: string, to: string): string[] {
  const ends = [ids.indexOf(from), ids.indexOf(to)].toSorted((a, b) => a - b);
  const [first = -1, last = -1] = ends;
  return first === -1 ? [to] : ids.slice(first, last + 1);
}
