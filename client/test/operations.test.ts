import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announce, blueprint, put } from '../../service/test/support/directory.ts';
import { endedDelivery, eventually } from '../../service/test/support/eventually.ts';
import { checkAnswer, openApi } from '../../service/test/support/openapi-check.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { createClient, verifyWebhook } from '@orgdir/client';

const service = await startTestService({
  worker: true,
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '100', WEBHOOK_RETRY_FACTOR: '1' },
});
const receiver = await startReceiver();
await put(service.database, 'alliances', [{ slug: 'league', name: 'League' }]);
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme', alliance: 'league' }]);
await put(service.database, 'blueprints', [blueprint({ key: 'gear', name: 'Gear' })]);
await service.settled();

/** Every operation that was called, by its operationId. Every response is checked against its schema. */
const called = new Set<string>();
const client = createClient({
  baseUrl: service.url,
  apiKey: service.key,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    const { pathname } = new URL(response.url);
    const method = init?.method ?? 'GET';
    called.add(operationOf(method, pathname));
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    if (isJson) checkAnswer(method, pathname, response.status, await response.clone().json());
    return response;
  },
});

test('status and openApi need no key', async () => {
  const open = createClient({ baseUrl: service.url });
  assert.equal((await open.status()).status, 'ok');
  assert.deepEqual((await open.openApi())['info'], (await client.openApi())['info']);
  assert.deepEqual((await client.status()).counts, { orgs: 1, alliances: 1, blueprints: 1 });
});

test('several values of a filter are sent, and an id that is none is refused', async () => {
  const several = await client.orgs.list({ slug: ['acme', 'other'], limit: 5 });
  assert.deepEqual(
    several.data.map(({ slug }) => slug),
    ['acme'],
  );
  assert.equal((await client.orgs.list({ slug: [] })).pagination.total, 1);
  for (const id of [undefined, null, '', '..', {}])
    await assert.rejects(async () => client.orgs.get(id as string), /an id or slug must be a text/);
});

test('organisations, alliances and blueprints are listed and read', async () => {
  const orgs = await client.orgs.list({ search: 'acm', alliance: 'league', recruiting: undefined });
  assert.deepEqual(orgs.pagination, { page: 1, limit: 20, total: 1, totalPages: 1 });
  assert.deepEqual(orgs.data, [await client.orgs.get('acme')]);
  const league = await client.alliances.get('league');
  assert.deepEqual([league.orgCount, league.orgs[0]?.slug], [1, 'acme']);
  assert.equal((await client.alliances.list({ sort: '-name' })).data[0]?.id, league.id);
  const gear = await client.blueprints.get('gear');
  assert.deepEqual((await client.blueprints.list({ active: true })).data, [gear]);
  const counted = await client.orgs.list({ search: 'acme', facets: 'alliance,language' });
  assert.deepEqual(counted.meta.facets?.alliance, [{ value: 'league', count: 1 }]);
  assert.deepEqual((await client.suggest('ac'))[0], {
    kind: 'organization',
    slug: 'acme',
    name: counted.data[0]?.name,
  });
});

test('everything is downloaded, and what has changed since is listed', async () => {
  const downloaded = await client.orgs.download();
  assert.deepEqual((await Array.fromAsync(downloaded.batches)).flat(), [
    await client.orgs.get('acme'),
  ]);
  const changedSince = downloaded.nextCursor;
  const { data, meta } = await client.orgs.list({ changedSince });
  assert.deepEqual(data, []);
  assert.deepEqual(meta.changes, { removed: [], nextCursor: changedSince, hasMore: false });
  for (const list of [client.alliances, client.blueprints]) {
    const { batches } = await list.download();
    assert.equal((await Array.fromAsync(batches as AsyncIterable<object[]>)).flat().length, 1);
  }
});

test('a webhook is created, read, updated, tested, rotated and deleted', async () => {
  const created = await client.webhooks.create({ url: receiver.url, events: ['org.created'] });
  const { secret, ...webhook } = created;
  assert.deepEqual(await client.webhooks.get(webhook.id), webhook);
  assert.deepEqual((await client.webhooks.list()).data, [webhook]);
  const changed = await client.webhooks.update(webhook.id, { description: 'Announces' });
  assert.equal(changed.description, 'Announces');

  const tested = await client.webhooks.test(webhook.id, { event: 'org.created' });
  assert.deepEqual([tested.status, tested.attempts[0]?.statusCode], ['succeeded', 200]);
  assert.equal((await client.webhooks.test(webhook.id)).status, 'succeeded');
  const [first] = await receiver.waitFor(1);
  assert.ok(first);
  const event = await verifyWebhook({ ...first, secret });
  assert.equal(event.event, 'webhook.test');

  const rotated = await client.webhooks.rotateSecret(webhook.id, { overlapSeconds: 60 });
  assert.notEqual(rotated.secret, secret);
  assert.ok(rotated.previousSecretExpiresAt);
  assert.deepEqual(await client.webhooks.delete(webhook.id), { id: webhook.id, deleted: true });
});

test('deliveries are listed, read, sent again and recovered', async () => {
  const startedAt = new Date(Date.now() - 60_000);
  const webhook = await client.webhooks.create({ url: receiver.url, events: ['org.created'] });
  receiver.respond = (response) => response.writeHead(500).end();
  await put(service.database, 'orgs', [{ slug: 'novelty', name: 'Novelty' }], { emitEvents: true });
  const failed = await endedDelivery(service, webhook.id);
  const { data } = await client.webhooks.deliveries.list(webhook.id, {
    status: 'failed',
    since: startedAt,
  });
  assert.deepEqual(
    data.map(({ id, attemptCount }) => [id, attemptCount]),
    [[failed.id, 6]],
  );
  const detail = await client.webhooks.deliveries.get(webhook.id, failed.id);
  assert.equal(JSON.parse(detail.body ?? '').data.slug, 'novelty');

  const explained = await client.webhooks.explain(webhook.id, data[0]?.eventId ?? '');
  assert.deepEqual([explained.result, explained.delivery?.status], ['delivered', 'failed']);
  const { checks } = await client.webhooks.explainTime(webhook.id, {
    event: 'org.created',
    subject: 'novelty',
    at: new Date(),
  });
  assert.equal(checks.subscribed, true);

  receiver.respond = (response) => response.writeHead(204).end();
  const again = await client.webhooks.deliveries.redeliver(webhook.id, failed.id);
  assert.equal(again.id, failed.id);
  await eventually(
    async () =>
      (await client.webhooks.deliveries.get(webhook.id, failed.id)).status === 'succeeded',
  );
  assert.deepEqual(await client.webhooks.recover(webhook.id, { since: startedAt }), { count: 0 });
  assert.deepEqual(
    await client.webhooks.replay(webhook.id, {
      since: startedAt,
      until: new Date(),
      dryRun: true,
    }),
    { failed: 0, cancelled: 0, missed: 0, more: false },
  );
});

test('events are listed', async () => {
  const { data, pagination } = await client.events.list({ event: 'org.created' });
  const names = data.map((event) => (event.event === 'org.created' ? event.data.name : null));
  assert.deepEqual([names, pagination.hasMore], [['Novelty'], false]);
  const pages = client.events.follow({ after: pagination.nextCursor });
  const next = pages.next();
  await eventually(async () => called.has('streamEvents'));
  await announce(service.database);
  assert.equal((await next).value?.data.length, 1);
  await pages.return();
});

test('there is a method for every operation of openapi.json', () => {
  const all = Object.values(openApi.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.deepEqual([...called].sort(), all.sort());
});

function operationOf(method: string, pathname: string): string {
  for (const [path, methods] of Object.entries(openApi.paths)) {
    const pattern = new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
    const operation = methods[method.toLowerCase()];
    if (operation && pattern.test(pathname)) return operation.operationId;
  }
  throw new Error(`openapi.json has no ${method} ${pathname}`);
}
