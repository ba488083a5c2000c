import { providers } from '../sign-in/provider-buttons.tsx';

/** `GitHub` for `github`. A provider that is no longer configured has only its id. */
export function methodName(provider: string): string {
  if (provider === 'credential') return 'Password';
  return providers.find(({ id }) => id === provider)?.name ?? provider;
}
