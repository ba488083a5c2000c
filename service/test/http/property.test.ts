import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put, blueprint } from '../support/directory.ts';
import { testHostileRequests, type Target } from '../support/hostile-requests.ts';
import { checkAnswer, openApi } from '../support/openapi-check.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService({ env: loopbackAllowed });
await put(service.database, 'alliances', [{ slug: 'northern-league', name: 'Northern League' }]);
await put(service.database, 'orgs', [
  { slug: 'acme-corporation', name: 'Acme', alliance: 'northern-league' },
]);
await put(service.database, 'blueprints', [blueprint({ slug: 'granite', key: 'granite' })]);
const receiver = await startReceiver();
const { body: created } = await service.call('/webhooks', {
  method: 'POST',
  json: { url: receiver.url },
});

function valid({ path, method }: Target, name: string): string {
  if (name !== 'slug') return method === 'delete' ? crypto.randomUUID() : created.data.id;
  if (path.includes('orgs')) return 'acme-corporation';
  return path.includes('alliances') ? 'northern-league' : 'granite';
}

testHostileRequests({
  url: service.url,
  credentials: { authorization: `Bearer ${service.key}` },
  document: openApi,
  check: checkAnswer,
  valid,
  body: (example) => ({ ...example, ...('url' in example ? { url: receiver.url } : {}) }),
  oneIn: 4,
});

test('the hostile requests leave the directory unchanged', async () => {
  for (const path of ['/orgs', '/alliances', '/blueprints']) {
    const { status, body } = await service.call(path);
    assert.deepEqual([status, body.pagination.total], [200, 1], path);
  }
});
