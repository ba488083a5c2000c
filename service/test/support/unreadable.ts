/** Credentials of webhooks that are sent to receivers, and that no response ever shows to anybody. */
import assert from 'node:assert/strict';
import type { Answer } from './service.ts';

const canary = 'canaryThatNobodyMayRead';
/** Headers of the owner. */
export const secretHeaders = { Authorization: `Bearer ${canary}` };
/** The path of a Slack channel. */
export const secretPath = `/services/T000/B000/${canary}`;

export function assertUnread({ text, headers }: Answer, what: string): void {
  const all = text + JSON.stringify([...headers]);
  const at = all.indexOf(canary);
  assert.equal(at, -1, `${what}: ${all.slice(Math.max(at - 200, 0), at + 100)}`);
}
