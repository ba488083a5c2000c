import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blueprint, put } from '../../service/test/support/directory.ts';
import { startTestService } from '../../service/test/support/service.ts';
import {
  createClient,
  type ListEventsQuery,
  type ListOrgsQuery,
  type Organisation,
} from '@orgdir/client';

const service = await startTestService({ worker: true });
const names = Array.from({ length: 230 }, (_, index) => `Org ${String(index).padStart(3, '0')}`);
await put(
  service.database,
  'orgs',
  names.map((name) => ({ name, recruiting: name.endsWith('7') })),
);
await put(service.database, 'blueprints', [blueprint(), blueprint()]);
await service.settled();

let requests: string[] = [];
const client = createClient({
  baseUrl: service.url,
  apiKey: service.key,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    requests.push(response.url);
    return response;
  },
});

test('all yields every entry once, in order, with few requests', async () => {
  requests = [];
  assert.deepEqual(await namesOf(client.orgs.all()), names);
  assert.equal(requests.length, 3);
});

test('all passes on filters and limit', async () => {
  requests = [];
  const query = { recruiting: true, sort: '-name', limit: 10 } as const;
  const expected = names.filter((name) => name.endsWith('7')).toReversed();
  assert.deepEqual(await namesOf(client.orgs.all(query)), expected);
  assert.equal(requests.length, 3);
  assert.deepEqual(await namesOf(client.orgs.all({ search: 'no such name' })), []);
});

test('all refuses what would make it a part of the list', async () => {
  requests = [];
  // TypeScript refuses these in a literal only.
  const changes: ListOrgsQuery = { changedSince: 'now' };
  const newest: ListEventsQuery = { newest: true };
  await assert.rejects(
    namesOf(client.orgs.all(changes)),
    new TypeError(
      'changedSince cannot be used here: list() has the changes, also what was removed',
    ),
  );
  for (const events of [client.events.all(newest), client.events.follow(newest)])
    await assert.rejects(
      events.next(),
      new TypeError(
        'newest cannot be used here: pass the nextCursor of list({ newest: true }) as after',
      ),
    );
  assert.equal(requests.length, 0);
  const notNewest: ListEventsQuery = { newest: false };
  assert.equal((await client.events.all(notNewest).next()).done, true);
});

test('pages are read only when the loop needs them', async () => {
  requests = [];
  const entries = client.orgs.all({ limit: 10 });
  assert.equal(requests.length, 0);
  let seen = 0;
  for await (const org of entries) {
    seen += 1;
    if (org.name === names[10]) break;
  }
  assert.deepEqual([seen, requests.length], [11, 2]);
});

test('a signal ends the loop with its reason', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  let seen = 0;
  const loop = async () => {
    for await (const org of client.orgs.all({ limit: 10 }, { signal: controller.signal })) {
      seen += 1;
      if (org.name === names[4]) controller.abort(reason);
    }
  };
  await assert.rejects(loop(), (thrown) => thrown === reason);
  assert.equal(seen, 10, 'what was read already is handed on');
});

test('every list has an iterator', async () => {
  const url = 'https://receiver.test/';
  const created = await client.webhooks.create({ url });
  const lists = [
    client.blueprints.all(),
    client.alliances.all(),
    client.webhooks.all(),
    client.webhooks.deliveries.all(created.id, { since: new Date() }),
  ];
  const counts = [];
  for (const list of lists) {
    let count = 0;
    for await (const _ of list) count += 1;
    counts.push(count);
  }
  assert.deepEqual(counts, [2, 0, 1, 0]);
});

async function namesOf(orgs: AsyncIterable<Organisation>): Promise<string[]> {
  const found = [];
  for await (const { name } of orgs) found.push(name);
  return found;
}
