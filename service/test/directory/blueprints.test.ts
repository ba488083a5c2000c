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

test('an ingredient is a whole item or name, not a part of one', async () => {
  assert.deepEqual(await names('ingredient=quartz'), ['diorite', 'granite']);
  assert.deepEqual(await names('ingredient=NETHER%20QUARTZ'), ['diorite', 'granite']);
  assert.deepEqual(await names('ingredient=quart'), []);
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
