/** Checks the times of requests about what has happened. */
import { isFuture, requireTime } from '../../contract/parse-time.ts';
import { recoverDaysMax } from '../../contract/periods.ts';
import { invalid } from '../../errors.ts';

const dayMs = 86_400_000;

type Range = { since?: string | undefined; until?: string | undefined };

/** `root`: where the request has the range. An empty one is allowed. */
export function checkRange({ since, until }: Range, root: 'query' | 'body'): void {
  if (since === undefined) return;
  const from = requirePast(since, `${root}.since`);
  if (until !== undefined && requireTime(until) < from)
    throw invalid({ path: `${root}.until`, message: 'must not be before since' });
}

export function requirePast(text: string, path: string): Date {
  const time = requireTime(text);
  if (isFuture(time)) throw invalid({ path, message: 'must not be in the future' });
  return time;
}

export function requireRecent(text: string, path = 'body.since'): Date {
  const since = requirePast(text, path);
  if (since.getTime() >= Date.now() - recoverDaysMax * dayMs) return since;
  throw invalid({ path, message: `must be at most ${recoverDaysMax} days ago` });
}
