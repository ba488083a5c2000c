/** Texts about apps that several screens share. */
import type { PortalBinding } from '../api/types.ts';

export const subjectWords: Record<PortalBinding['kind'], string> = {
  organization: 'organisation',
  alliance: 'alliance',
};

/** `no keys`, `1 key`, `2 keys`. */
export function count(number: number, thing: string): string {
  const amount = number === 0 ? 'no' : number.toLocaleString();
  return `${amount} ${thing}${number === 1 ? '' : 's'}`;
}
