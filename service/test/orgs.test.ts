import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put } from './support/directory.ts';
import { startTestService } from './support/service.ts';

const service = await startTestService();
await put(service.database, 'orgs', [
  { name: 'Zebra' },
  { name: 'Éclair' },
  { name: 'echo', listed: false },
]);
await service.settled();

test('the list holds listed organisations by folded name', async () => {
  const { status, body } = await service.call('/orgs');
  assert.equal(status, 200);
  assert.deepEqual(
    body.data.map((org: { name: string }) => org.name),
    ['Éclair', 'Zebra'],
  );
  assert.equal(body.pagination.total, 2);
});
