/**
 * The address of somebody who signs in with a provider. The provider's address counts only if the provider says that it
 * is verified. Otherwise the provider's own name for them stands in its place, in the form of an address that nobody can
 * have (RFC 2606), such as `248289761001@oidc.invalid`: it can own apps and be a manager, and takes nobody's address.
 */
import { createHash } from 'node:crypto';
import { normaliseEmail } from '../access/email.ts';

type Profile = { subject: string; email: unknown; verified: boolean };

export function providerIdentity(
  provider: string,
  { subject, email, verified }: Profile,
): { email: string; emailVerified: true } {
  const proven = verified && typeof email === 'string' ? readAddress(email) : null;
  return { email: proven ?? subjectAddress(provider, subject), emailVerified: true };
}

/** Nobody can receive mail at such an address, so nobody signs up with one, and no mail is sent to it. */
export function isProviderIdentity(email: string): boolean {
  return email.trim().toLowerCase().endsWith('.invalid');
}

/** Null for an address that stands for nobody's mailbox, or could fold into another's. */
function readAddress(text: string): string | null {
  try {
    const email = normaliseEmail(text);
    return isProviderIdentity(email) ? null : email;
  } catch {
    return null;
  }
}

/** Addresses have no upper case, subjects do, so any other subject is hashed; the `+` distinguishes hashes from plain ones. */
function subjectAddress(provider: string, subject: string): string {
  const plain = /^[a-z0-9][a-z0-9._-]{0,63}$/.test(subject);
  const local = plain ? subject : `+${createHash('sha256').update(subject).digest('hex')}`;
  return `${local.slice(0, 64)}@${provider}.invalid`;
}
