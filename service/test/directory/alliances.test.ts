import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put } from '../support/directory.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService();

await put(service.database, 'alliances', [
  { slug: 'north', name: 'Northern Leágue', tag: 'NL', description: 'Cold', recruiting: true },
  { slug: 'south', name: 'Southern League', status: 'disbanded', tag: '50%' },
  { slug: 'league', name: 'league of none' },
]);
await put(service.database, 'orgs', [
  { slug: 'b', name: 'b', alliance: 'north', memberCount: 10, tag: 'BB' },
  { slug: 'a', name: 'Á', alliance: 'north', memberCount: 5 },
  { slug: 'c', name: 'c', alliance: 'south', memberCount: 1 },
  { slug: 'd', name: 'd', memberCount: 100 },
  { slug: 'hidden', name: 'Hidden', alliance: 'north', memberCount: 1000, listed: false },
]);
await service.settled();

const names = async (query: string) => {
  const { status, body } = await service.call(`/alliances?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return (body.data as { slug: string }[]).map(({ slug }) => slug);
};

test('the list is ordered by name and paged', async () => {
  assert.deepEqual(await names(''), ['league', 'north', 'south']);
  assert.deepEqual(await names('limit=2&page=2'), ['south']);
  const { body } = await service.call('/alliances?limit=2&page=9');
  assert.deepEqual(body.data, []);
  assert.deepEqual(body.pagination, { page: 9, limit: 2, total: 3, totalPages: 2 });
});

test('search looks in name, tag, slug and description, and ranks by the field that matches, and by members', async () => {
  assert.deepEqual(await names('search=LEAGUE'), ['north', 'south', 'league']);
  assert.deepEqual(await names('search=southern%20league'), ['south']);
  assert.deepEqual(await names('search=of'), ['league']);
  assert.deepEqual(await names('search=cold'), ['north']);
  assert.deepEqual(await names('search=nl'), ['north']);
  assert.deepEqual(await names('search=nor'), ['north']);
  assert.deepEqual(await names('search=%25'), ['south']);
  assert.deepEqual(await names('search=_'), ['league', 'north', 'south'], 'no words');
});

test('every sort key orders both ways', async () => {
  assert.deepEqual(await names('sort=memberCount'), ['league', 'south', 'north']);
  for (const key of ['name', 'createdAt', 'updatedAt', 'memberCount']) {
    const ascending = await names(`sort=${key}`);
    assert.deepEqual(await names(`sort=-${key}`), ascending.toReversed(), key);
  }
});

test('counts and members include only listed organisations', async () => {
  const { body } = await service.call('/alliances/north');
  assert.equal(body.data.orgCount, 2);
  assert.equal(body.data.memberCount, 15);
  type Member = { slug: string; name: string; tag: string | null; memberCount: number };
  assert.deepEqual(
    (body.data.orgs as Member[]).map((org) => [org.slug, org.name, org.tag, org.memberCount]),
    [
      ['a', 'Á', null, 5],
      ['b', 'b', 'BB', 10],
    ],
  );
});

test('the detail is the object of the list with its organisations', async () => {
  const { body } = await service.call('/alliances');
  for (const alliance of body.data) {
    const detail = await service.call(`/alliances/${alliance.slug}`);
    const { orgs, ...rest } = detail.body.data;
    assert.deepEqual(rest, alliance);
    assert.ok(Array.isArray(orgs));
    assert.equal(orgs.length, alliance.orgCount);
    assert.equal(alliance.url, `${testPublicUrl}/api/v1/alliances/${alliance.slug}`);
  }
});

test('counts follow an organisation that joins, leaves, grows or is deleted', async () => {
  const state = async () => {
    await service.settled();
    const { body } = await service.call('/alliances/north');
    const { orgCount, memberCount, orgs } = body.data;
    return [orgCount, memberCount, orgs.map(({ slug }: { slug: string }) => slug).join()];
  };
  const change = (fields: object) =>
    put(service.database, 'orgs', [{ slug: 'd', name: 'd', memberCount: 100, ...fields }]);
  await change({ alliance: 'north' });
  assert.deepEqual(await state(), [3, 115, 'a,b,d']);
  await change({ alliance: 'north', memberCount: 1 });
  assert.deepEqual(await state(), [3, 16, 'a,b,d']);
  await change({ alliance: 'south' });
  assert.deepEqual(await state(), [2, 15, 'a,b']);
});
