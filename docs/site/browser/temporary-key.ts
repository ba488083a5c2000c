/** A key that can only read the directory. The tab keeps it for its other pages until it expires. */
import { readStored, writeStored } from './stored.ts';

export type TemporaryKey = { key: string; expiresAt: string };
type App = { id: string; role: string; suspendedAt: string | null };
export class RequestError extends Error {}

const storageKey = 'docs-key';

/** Null if there is none, or it has expired. */
export function readTemporaryKey(): TemporaryKey | null {
  const kept = JSON.parse(
    readStored('sessionStorage', storageKey) ?? 'null',
  ) as TemporaryKey | null;
  return kept && Date.parse(kept.expiresAt) > Date.now() ? kept : null;
}

export function forgetTemporaryKey(): void {
  writeStored('sessionStorage', storageKey, 'null');
}

/**
 * Uses the first app for which the signed-in user may create keys; a suspended one only if there is no other, to say why it has
 * none. `portal` is the address of the portal's API.
 */
export async function createTemporaryKey(portal: string): Promise<TemporaryKey> {
  const { data: apps } = await callPortal<App[]>(`${portal}/apps`);
  const usable = apps.filter(({ role }) => role !== 'viewer');
  const app = usable.find(({ suspendedAt }) => suspendedAt === null) ?? usable[0];
  if (!app) throw new RequestError('Create an app in the developer portal first.');
  const address = `${portal}/apps/${app.id}/temporary-keys`;
  const { key, expiresAt } = (await callPortal<TemporaryKey>(address, 'POST')).data;
  writeStored('sessionStorage', storageKey, JSON.stringify({ key, expiresAt }));
  return { key, expiresAt };
}

async function callPortal<T>(address: string, method = 'GET'): Promise<{ data: T }> {
  const response = await fetch(address, { method });
  const body = await response.json();
  if (response.status === 401) throw new RequestError('Sign in to the developer portal first.');
  if (!response.ok) throw new RequestError(body.error.message);
  return body;
}
