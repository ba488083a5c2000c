import { randomBytes } from 'node:crypto';

/** `whsec_` and 32 random bytes in base64, the Standard Webhooks format. */
export function generateSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
