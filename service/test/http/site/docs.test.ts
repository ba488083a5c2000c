/** The pages themselves are tested in docs/test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { loadConfig } from '../../../src/settings/config.ts';
import { registerDocs } from '../../../src/http/site/docs.ts';
import { loadBrand } from '../../../src/http/site/brand.ts';
import { testPublicUrl } from '../../support/service.ts';

test('missing pages are reported with advice', async () => {
  const app = fastify();
  const config = loadConfig({ PUBLIC_URL: testPublicUrl });
  await registerDocs(app, { ...config, brand: await loadBrand(config) }, '/nonexistent/');
  for (const url of ['/docs', '/docs/events', '/llms.txt']) {
    const { statusCode, headers, body } = await app.inject(url);
    assert.deepEqual([statusCode, headers['retry-after']], [503, '60'], url);
    assert.match(body, /npm run build/);
  }
});
