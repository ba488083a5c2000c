import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawRequest } from './support/raw-request.ts';
import { startTestService } from './support/service.ts';

const service = await startTestService({ env: { SERVICE_NAME: 'Directory' } });
const get = (path: string) => rawRequest(service.url, { path });

/** The configuration that the page passes to Scalar. */
async function configuration() {
  const { text } = await get('/docs/');
  const [, json = '{}'] = /createApiReference\('#app', (\{.*\})\)/s.exec(text) ?? [];
  return JSON.parse(json) as Record<string, unknown>;
}

test('/docs shows the OpenAPI document and needs no key', async () => {
  const short = await get('/docs');
  assert.deepEqual([short.status, short.headers.location], [301, '/docs/']);
  const page = await get('/docs/');
  assert.equal(page.status, 200);
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  assert.match(page.text, /<title>Directory API<\/title>/);
  assert.equal((await configuration())['url'], '/api/v1/openapi.json');
});

test('the page loads everything from this server', async () => {
  const { text } = await get('/docs/');
  const sources = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, source]) => source ?? '');
  assert.deepEqual(sources, ['js/scalar.js']);
  assert.doesNotMatch(text, /https?:|\/\/[a-z]/i);
  const script = await get('/docs/js/scalar.js');
  assert.equal(script.status, 200);
  assert.match(script.headers['content-type'] ?? '', /^application\/javascript/);
  assert.ok(script.text.length > 100_000);
});

test('the page may not connect to other hosts', async () => {
  const { headers } = await get('/docs/');
  const policy = new Map(
    String(headers['content-security-policy'])
      .split(';')
      .map((directive) => directive.trim().split(' '))
      .map(([name, ...sources]) => [name, sources.join(' ')]),
  );
  assert.equal(policy.get('default-src'), "'none'");
  assert.equal(policy.get('connect-src'), "'self'");
  const own = /^('(none|self|unsafe-inline)'|data:|blob:)$/;
  for (const [name, sources] of policy)
    for (const source of sources.split(' ')) assert.match(source, own, name);
  assert.equal(headers['strict-transport-security'], undefined);
});

test('features of Scalar that call its hosts are off', async () => {
  const { withDefaultFonts, telemetry, proxyUrl, hideClientButton, mcp, agent, ...rest } =
    await configuration();
  assert.deepEqual(
    { withDefaultFonts, telemetry, proxyUrl, hideClientButton, mcp, agent },
    {
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: '',
      hideClientButton: true,
      mcp: { disabled: true },
      agent: { disabled: true },
    },
  );
  assert.equal(rest['showDeveloperTools'], 'never');
});
