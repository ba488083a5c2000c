import { VisuallyHidden } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import type { PortalDelivery } from '../api/types.ts';
import { formatCount } from '../ui/format-count.ts';
import { useTimes } from '../ui/times.tsx';
import { countNewer } from './use-steady-rows.ts';

/** The shortest time between two announcements. */
const announceEveryMs = 10_000;

type Seen = { scope: string | null; newest: string; count: number; announcedAt: number };

type Props = { fresh: PortalDelivery[]; readAt: number; scope: string };

/** Announces to screen readers how many deliveries are new since the last announcement. */
export function AnnounceNew({ fresh, readAt, scope }: Props) {
  const { clock } = useTimes();
  const [message, setMessage] = useState('');
  // What the page opens with is not new. Without filters, the scope is empty.
  const seen = useRef<Seen>({ scope: null, newest: '', count: 0, announcedAt: 0 });
  useEffect(() => {
    const newest = fresh[0]?.id ?? '';
    const before = seen.current;
    if (before.scope !== scope) {
      seen.current = { scope, newest, count: 0, announcedAt: 0 };
      return;
    }
    const count = before.count + countNewer(fresh, before.newest);
    const now = Date.now();
    const isDue = count > 0 && now - before.announcedAt >= announceEveryMs;
    // The time makes the message unique: screen readers do not announce the same text twice.
    if (isDue)
      setMessage(`${formatCount(count, 'new delivery')}, ${clock(new Date(now).toISOString())}`);
    seen.current = {
      scope,
      newest: newest > before.newest ? newest : before.newest,
      count: isDue ? 0 : count,
      announcedAt: isDue ? now : before.announcedAt,
    };
  }, [fresh, readAt, scope, clock]);
  return <VisuallyHidden role="status">{message}</VisuallyHidden>;
}
