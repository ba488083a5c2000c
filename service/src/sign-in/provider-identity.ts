/**
 * What somebody is called who comes from a provider. An address counts only where the provider says that it is verified.
 * Else the provider's own name for them is theirs, in the form of an address that nobody can ever have
 * (RFC 2606), such as `248289761001@oidc.invalid`: it can own apps and be a manager, and takes no address from anybody.
 */
import { createHash } from 'node:crypto';

type Profile = { subject: string; email: unknown; verified: boolean };

export function providerIdentity(
  provider: string,
  { subject, email, verified }: Profile,
): { email: string; emailVerified: true } {
  const proven = verified && typeof email === 'string' && !isProviderIdentity(email);
  return {
    email: proven ? email.trim().toLowerCase() : subjectAddress(provider, subject),
    emailVerified: true,
  };
}

/** Nobody can verify such an address, so nobody may sign up with one. */
export function isProviderIdentity(email: string): boolean {
  return email.trim().toLowerCase().endsWith('.invalid');
}

/** Addresses know no upper case, subjects do: what is not plain is told by its hash, which begins as no plain one can. */
function subjectAddress(provider: string, subject: string): string {
  const plain = /^[a-z0-9][a-z0-9._-]{0,63}$/.test(subject);
  const local = plain ? subject : `+${createHash('sha256').update(subject).digest('hex')}`;
  return `${local.slice(0, 64)}@${provider}.invalid`;
}
