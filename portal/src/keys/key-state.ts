import type { PortalKey } from '../api/types.ts';
import { expiresSoonDays } from '../../../service/src/contract/periods.ts';

export type KeyState = 'valid' | 'expires soon' | 'expired' | 'revoked' | 'suspended';

const soonMs = expiresSoonDays * 86_400_000;

export function keyState(
  { revokedAt, expiresAt, suspendedAt }: Pick<PortalKey, 'revokedAt' | 'expiresAt' | 'suspendedAt'>,
  nowMs: number,
): KeyState {
  if (revokedAt !== null) return 'revoked';
  const leftMs = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - nowMs;
  if (leftMs <= 0) return 'expired';
  if (suspendedAt !== null) return 'suspended';
  return leftMs <= soonMs ? 'expires soon' : 'valid';
}

/** Names a key uniquely: after a rotation, two keys have the same name. */
export function nameOfKey({ name, last4 }: { name: string; last4: string }): string {
  return `${name} (…${last4})`;
}
