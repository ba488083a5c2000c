/** A sample request that the scopes of a key allow, as a curl command and as a call of the client. */
import type { Client } from '@orgdir/client';
import { apiAddress } from '../api/public-api.ts';
import { formatCount } from '../ui/format-count.ts';
import { scopes, type Scope } from './scopes.ts';

/** The result as text, and the response itself. */
export type SampleResult = { summary: string; response: unknown };
type Sample = { path: string; call: (client: Client) => Promise<SampleResult> };

const samples: Record<Scope, Sample> = {
  'read:directory': {
    path: '/orgs?limit=1',
    async call(client) {
      const response = await client.orgs.list({ limit: 1 });
      const { total } = response.pagination;
      return { summary: `the directory has ${total.toLocaleString()} organisations`, response };
    },
  },
  'read:events': {
    path: '/events?limit=1',
    async call(client) {
      const response = await client.events.list({ limit: 1 });
      const [first] = response.data;
      const summary = first
        ? `the oldest stored event is ${first.event}`
        : 'there are no events for this app yet';
      return { summary, response };
    },
  },
  'write:webhooks': {
    path: '/webhooks?limit=1',
    async call(client) {
      const response = await client.webhooks.list({ limit: 1 });
      const { total } = response.pagination;
      return { summary: `this app has ${formatCount(total, 'webhook')}`, response };
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
