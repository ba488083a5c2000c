import { providers } from '../sign-in/providers.tsx';

/** `GitHub` for `github`; what is not configured any more goes by its id. */
export function nameOf(providerId: string): string {
  if (providerId === 'credential') return 'Password';
  return providers.find(({ id }) => id === providerId)?.name ?? providerId;
}
