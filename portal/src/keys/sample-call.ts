/** A sample request that the scopes of a key allow, as a curl command and as a call of the client. */
import type { Client } from '@orgdir/client';
import { apiAddress } from '../api/public-api.ts';
import { scopes, type Scope } from './scope-words.ts';

/** The result as text, and the response itself. */
export type Sampled = { words: string; answer: unknown };
type Sample = { path: string; call: (client: Client) => Promise<Sampled> };

const samples: Record<Scope, Sample> = {
  'read:directory': {
    path: '/orgs?limit=1',
    async call(client) {
      const answer = await client.orgs.list({ limit: 1 });
      const { total } = answer.pagination;
      return { words: `the directory has ${total.toLocaleString()} organisations`, answer };
    },
  },
  'read:events': {
    path: '/events?limit=1',
    async call(client) {
      const answer = await client.events.list({ limit: 1 });
      const [first] = answer.data;
      const words = first
        ? `the oldest stored event is ${first.event}`
        : 'there are no events for this app yet';
      return { words, answer };
    },
  },
  'write:webhooks': {
    path: '/webhooks?limit=1',
    async call(client) {
      const answer = await client.webhooks.list({ limit: 1 });
      const { total } = answer.pagination;
      return { words: `this app has ${total} ${total === 1 ? 'webhook' : 'webhooks'}`, answer };
    },
  },
};

export function sampleFor(chosen: Scope[]): Sample {
  return samples[scopes.find((scope) => chosen.includes(scope)) ?? 'read:directory'];
}

export function curlOf(key: string, chosen: Scope[]): string {
  const url = `${apiAddress}/api/v1${sampleFor(chosen).path}`;
  return `curl -H 'Authorization: Bearer ${key}' '${url}'`;
}
