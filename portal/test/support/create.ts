import assert from 'node:assert/strict';
import type { Person } from './portal-browser.ts';

/** Makes something as its owner, by the request that the portal's pages send. */
export async function create(person: Person, path: string, json: object = {}): Promise<any> {
  const { status, body } = await person.call(path, { method: 'POST', json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}
