import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blueprint, put } from '../support/directory.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();

const ingredient = (item: string, name: string, unit: string | null = null) => ({
  item,
  name,
  quantity: 0.5,
  unit,
});
const granite = blueprint({
  key: 'granite_key',
  slug: 'granite',
  name: 'Granite',
  description: 'Speckled',
  output: { item: 'granite_out', name: 'Polished Stone', quantity: 0 },
  ingredients: [ingredient('diorite', 'Diorite', 'kg'), ingredient('quartz', 'Nether Quartz')],
  sources: [{ kind: 'table', name: 'Crafting table' }],
  craftTimeSeconds: 1.5,
  version: '1.21.4',
});
await put(service.database, 'blueprints', [
  granite,
  blueprint({ slug: 'torch', key: 'torch', name: 'Tórch 50%', category: 'light', active: false }),
  blueprint({
    slug: 'diorite',
    key: 'diorite_key',
    name: 'Diorite',
    ingredients: [ingredient('quartz', 'Nether Quartz')],
  }),
]);
await service.settled();

const names = async (query: string) => {
  const { status, body } = await service.call(`/blueprints?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return (body.data as { slug: string }[]).map(({ slug }) => slug);
};

test('the list holds active and retired blueprints, by name', async () => {
  assert.deepEqual(await names(''), ['diorite', 'granite', 'torch']);
  assert.deepEqual(await names('limit=1&page=2'), ['granite']);
});

test('category, active and ingredient filter the list', async () => {
  assert.deepEqual(await names('category=light'), ['torch']);
  assert.deepEqual(await names('category=none'), []);
  assert.deepEqual(await names('active=true'), ['diorite', 'granite']);
  assert.deepEqual(await names('active=false'), ['torch']);
  assert.deepEqual(await names('ingredient=quartz'), ['diorite', 'granite']);
  assert.deepEqual(await names('ingredient=NETHER%20QUARTZ'), ['diorite', 'granite']);
  assert.deepEqual(await names('ingredient=diorite'), ['granite']);
  assert.deepEqual(await names('ingredient=quart'), [], 'a whole item, not a part of one');
  assert.deepEqual(await names('ingredient=quartz&category=materials&search=granite'), ['granite']);
});

test('search looks in name, key, output and ingredients, and not in the description', async () => {
  assert.deepEqual(await names('search=torch'), ['torch']);
  assert.deepEqual(await names('search=granite_key'), ['granite']);
  assert.deepEqual(await names('search=polished'), ['granite']);
  assert.deepEqual(await names('search=granite_out'), ['granite']);
  assert.deepEqual(await names('search=nether'), ['diorite', 'granite']);
  assert.deepEqual(await names('search=speckled'), []);
  assert.deepEqual(await names('search=50%25'), ['torch']);
  assert.deepEqual(await names('search=%25_'), ['torch']);
});

test('names that start with the text come first, unless sort is given', async () => {
  assert.deepEqual(await names('search=diorite'), ['diorite', 'granite']);
  assert.deepEqual(await names('search=diorite&sort=-name'), ['granite', 'diorite']);
});

test('every sort key orders both ways, and there is no memberCount', async () => {
  for (const key of ['name', 'createdAt', 'updatedAt']) {
    const ascending = await names(`sort=${key}`);
    assert.deepEqual(await names(`sort=-${key}`), ascending.toReversed(), key);
  }
  assert.equal((await service.call('/blueprints?sort=memberCount')).status, 400);
});

test('a blueprint has every field, in the detail as in the list', async () => {
  const { body } = await service.call('/blueprints/granite');
  const { id: _, createdAt, updatedAt, ...rest } = body.data;
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(rest, {
    slug: 'granite',
    key: 'granite_key',
    name: 'Granite',
    description: 'Speckled',
    category: 'materials',
    output: { item: 'granite_out', name: 'Polished Stone', quantity: 0 },
    craftTimeSeconds: 1.5,
    ingredients: [ingredient('diorite', 'Diorite', 'kg'), ingredient('quartz', 'Nether Quartz')],
    sources: [{ kind: 'table', name: 'Crafting table' }],
    version: '1.21.4',
    active: true,
    retiredAt: null,
  });
  const list = await service.call('/blueprints?search=granite_key');
  assert.deepEqual(list.body.data, [body.data]);
});

test('a retired blueprint has retiredAt, and an active one has none', async () => {
  const { body } = await service.call('/blueprints/torch');
  assert.equal(body.data.active, false);
  assert.ok(Date.parse(body.data.retiredAt) <= Date.now());
  const torch = { slug: 'torch', key: 'torch', name: 'Tórch 50%', category: 'light' };
  await put(service.database, 'blueprints', [blueprint(torch)]);
  await service.settled();
  const again = await service.call('/blueprints/torch');
  assert.deepEqual([again.body.data.active, again.body.data.retiredAt], [true, null]);
});
