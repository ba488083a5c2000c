import { formatExact } from '../shown/time.tsx';
import type { Session } from './account.ts';
import { describeBrowser } from './describe-browser.ts';

/** What tells a session from others of the same kind of browser. */
export function describeSession({ userAgent, ipAddress, createdAt }: Session): string {
  const from = ipAddress ? `, from ${ipAddress}` : '';
  return `${describeBrowser(userAgent)}${from}, signed in ${formatExact(createdAt)}`;
}
