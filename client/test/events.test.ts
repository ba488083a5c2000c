import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { put } from '../../service/test/support/directory.ts';
import { startProxy } from '../../service/test/support/proxy.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { ApiError, createClient, NetworkError, type DirectoryEvent } from '@orgdir/client';

const service = await startTestService({ worker: true });
const client = createClient({ baseUrl: service.url, apiKey: service.key });

const announce = (...names: string[]) =>
  put(
    service.database,
    'orgs',
    names.map((name) => ({ name })),
    { emitEvents: true },
  );
const nameOf = (event: DirectoryEvent) => (event.event === 'org.created' ? event.data.name : null);

test('follow yields pages of events and continues from a cursor', async () => {
  const seen: (string | null)[] = [];
  let kept: string | null = null;
  await announce('One', 'Two', 'Three');
  for await (const page of client.events.follow({ limit: 2, pollMs: 100 })) {
    assert.ok(page.data.length <= 2);
    seen.push(...page.data.map(nameOf));
    kept = page.pagination.nextCursor;
    if (seen.length === 3) await announce('Four');
    if (seen.length === 4) break;
  }
  assert.deepEqual(seen.toSorted(), ['Four', 'One', 'Three', 'Two']);

  await announce('Five');
  for await (const page of client.events.follow({ after: kept, pollMs: 100 })) {
    assert.deepEqual(page.data.map(nameOf), ['Five']);
    break;
  }
});

test('all iterates over events in order', async () => {
  const all: string[] = [];
  for await (const event of client.events.all({ limit: 2 })) all.push(event.id);
  const { data, pagination } = await client.events.list({ limit: 100 });
  assert.deepEqual(
    all,
    data.map(({ id }) => id),
  );
  const rest = client.events.all({ after: pagination.nextCursor });
  assert.equal((await rest.next()).done, true);
});

test('a signal ends follow, also while it waits', async () => {
  const controller = new AbortController();
  const { pagination } = await client.events.list({ limit: 100 });
  let asked: () => void = () => {};
  const waits = new Promise<void>((resolve) => (asked = resolve));
  const watched = createClient({
    baseUrl: service.url,
    apiKey: service.key,
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      setImmediate(asked);
      return answer;
    },
  });
  const query = { after: pagination.nextCursor, pollMs: 600_000 };
  const next = watched.events.follow(query, { signal: controller.signal }).next();
  await waits;
  controller.abort('stop');
  await assert.rejects(next, (reason) => reason === 'stop');
});

test('follow waits out temporary failures only', async () => {
  const { hostname, port } = new URL(service.url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  after(() => proxy.close());
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  let failures = 0;
  const watched = createClient({
    baseUrl,
    apiKey: service.key,
    retries: 0,
    fetch: (input, init) =>
      fetch(input, init).catch((error: unknown) => {
        failures += 1;
        // The second request shows that it keeps polling.
        if (failures === 2) proxy.mend();
        throw error;
      }),
  });
  const { pagination } = await client.events.list({ limit: 100 });
  const query = { after: pagination.nextCursor, pollMs: 100 };
  const next = watched.events.follow(query).next();
  proxy.cut();
  await announce('After the break');
  assert.deepEqual((await next).value?.data.map(nameOf), ['After the break']);
  assert.equal(failures, 2);

  proxy.cut();
  await assert.rejects(watched.events.follow({ ...query, patienceMs: 0 }).next(), NetworkError);
  const stranger = createClient({ baseUrl: service.url, apiKey: 'odk_nobody' });
  await assert.rejects(stranger.events.follow().next(), ApiError);
});

test('follow never polls without a pause', async () => {
  await assert.rejects(client.events.follow({ pollMs: 0 }).next(), RangeError);
});
