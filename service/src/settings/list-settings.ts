/** The settings in force for people who look at them: no secret, and of an address with a password only the host. */
import { settings, type Environment } from './settings.ts';

export type SettingInForce = { name: string; value: string | null; isDefault: boolean };

export function listSettings(env: Environment): SettingInForce[] {
  return Object.entries(settings).map(([name, { type, default: fallback }]) => {
    const text = env[name]?.trim() || undefined;
    const value = text ?? fallback;
    return {
      name,
      value: value === undefined ? null : shown(value, type.secret),
      isDefault: text === undefined || text === fallback,
    };
  });
}

function shown(value: string, secret: 'value' | 'password' | undefined): string {
  if (secret === undefined) return value;
  // Paths and parameters may hold tokens, and an address with several hosts is no URL of the standard.
  const url = secret === 'password' ? URL.parse(value) : null;
  return url?.host ? `${url.protocol}//${url.host}` : 'set';
}
