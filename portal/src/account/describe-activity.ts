/** Describes an entry of the account's activity as a sentence. */
import type { AccountActivityEntry } from '../api/types.ts';
import { capitalise } from '../ui/capitalise.ts';

type Details = AccountActivityEntry['details'];
type Sentence = (details: Details, methodName: MethodName) => string;
/** `GitHub` for `github`. */
type MethodName = (provider: string) => string;

export function describeActivity(
  { action, details }: Pick<AccountActivityEntry, 'action' | 'details'>,
  methodName: MethodName,
): string {
  return sentences[action]?.(details, methodName) ?? describeUnknown(action);
}

const sentences: Record<string, Sentence> = {
  'account.signed_in': ({ method }, name) => `Signed in with ${describeMethod(method, name)}`,
  'account.second_factor_asked': ({ method }, name) =>
    `Began to sign in with ${describeMethod(method, name)}; the second factor was asked for`,
  'account.second_factor_removed': () => 'The operator removed the second factor',
  'account.passkey_added': ({ name }) => `Added a passkey${quote(name, ':')}`,
  'account.passkey_renamed': ({ name }) => `Renamed a passkey${quote(name, ' to')}`,
  'account.passkey_removed': ({ name }) => `Removed a passkey${quote(name, ':')}`,
  'account.authenticator_added': () => 'Added an authenticator app',
  'account.authenticator_removed': () => 'Removed the authenticator app',
  'account.recovery_codes_created': () => 'Created new recovery codes',
  'account.sign_in_failed': ({ count }) => `Failed to sign in${times(count)}`,
  'account.signed_out': () => 'Signed out',
  'account.created': ({ provider }, name) =>
    `Created the account with ${describeMethod(provider, name)}`,
  'account.deleted': () => 'Deleted the account',
  'account.password_changed': ({ byLink }) =>
    byLink === true ? 'Set a new password with a link' : 'Changed the password',
  'account.method_added': ({ provider }, name) =>
    `Added ${describeMethod(provider, name)} as a way to sign in`,
  'account.method_removed': ({ provider }, name) =>
    `Removed ${describeMethod(provider, name)} as a way to sign in`,
  'account.sessions_ended': ({ count }) =>
    typeof count === 'number' && count > 1
      ? `Ended ${count} other sessions`
      : 'Ended another session',
  'account.address_requested': ({ email }) =>
    typeof email === 'string'
      ? `Asked to change the address to ${email}`
      : 'Asked to change the address',
  'account.address_changed': ({ email }) =>
    typeof email === 'string' ? `Changed the address to ${email}` : 'Changed the address',
  'account.name_changed': ({ name }) =>
    typeof name === 'string' ? `Changed the name to “${name}”` : 'Changed the name',
  'account.suspended': () => 'The operator suspended the account',
  'account.restored': () => 'The operator restored the account',
  'account.link_created': () => 'The operator created a link that sets the password',
};

/** A later version of the service may record more: `account.photo_changed` becomes `Photo changed`. */
function describeUnknown(action: string): string {
  return capitalise(action.slice(action.indexOf('.') + 1).replaceAll(/[._]/g, ' '));
}

function describeMethod(id: unknown, name: MethodName): string {
  if (typeof id !== 'string') return 'a provider';
  if (factors[id] !== undefined) return factors[id];
  return id === 'password' || id === 'credential' ? 'a password' : name(id);
}

const factors: Record<string, string> = {
  passkey: 'a passkey',
  authenticator: 'a code of the authenticator app',
  recovery_code: 'a recovery code',
};

function quote(name: unknown, before = ''): string {
  return typeof name === 'string' ? `${before} “${name}”` : '';
}

function times(count: unknown): string {
  return typeof count === 'number' && count > 1 ? ` ${count.toLocaleString()} times` : '';
}
