import type { AccountSession } from '../api/types.ts';
import { formatExact } from '../ui/time.tsx';
import { describeBrowser } from './describe-browser.ts';

/** Identifies a session among others in the same kind of browser. */
export function describeSession({ userAgent, ipAddress, createdAt }: AccountSession): string {
  const from = ipAddress ? `, from ${ipAddress}` : '';
  return `${describeBrowser(userAgent)}${from}, signed in ${formatExact(createdAt)}`;
}
