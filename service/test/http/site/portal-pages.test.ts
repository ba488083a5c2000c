import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fastify from 'fastify';
import { sql } from '../../../src/database/database.ts';
import { runningMax } from '../../../src/http/admission/caller-turns.ts';
import { loadBrand } from '../../../src/http/site/brand.ts';
import { hashOf, schemeScript } from '../../../src/http/site/tokens.ts';
import { loadConfig } from '../../../src/settings/config.ts';
import { registerPortalPages } from '../../../src/http/site/portal-pages.ts';
import { openCuttableDatabase } from '../../support/cuttable-database.ts';
import { eventually } from '../../support/eventually.ts';
import { cookiesOf, password, postPortal, signInAs, signUp } from '../../support/portal.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { startTestService, testPublicUrl, type TestService } from '../../support/service.ts';

const service = await startTestService();
const ada = await signUp(service, 'ada@example.org');
const cookie = ada.credentials['cookie'] ?? '';

type Asked = { path?: string; headers?: Record<string, string>; method?: string };

const ask = ({ url }: Pick<TestService, 'url'>, { path = '', ...rest }: Asked = {}) =>
  fetch(`${url}/profile/developer${path}`, { redirect: 'manual', ...rest });

async function pageDataOf(answer: Response) {
  assert.equal(answer.status, 200);
  const html = await answer.text();
  const [, nonce, json = ''] =
    /<script id="page-data" type="application\/json" nonce="([^"]+)">([^<]*)<\/script><\/head>/.exec(
      html,
    ) ?? [];
  return { html, nonce, data: JSON.parse(json) };
}

async function assetsOf(at: Pick<TestService, 'url'> = service): Promise<string[]> {
  const html = await (await ask(at)).text();
  return [...html.matchAll(/"([^"]+\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path = '']) => path);
}

const directivesOf = (answer: Response) =>
  new Map(
    (answer.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
      const [name = '', ...values] = directive.split(' ');
      return [name, values];
    }),
  );

test('a page has a strict content security policy, is not cached and sends no referrer', async () => {
  for (const path of ['', '/', '/apps/1/webhooks', '/no/such/page', '/first-account']) {
    const answer = await ask(service, { path });
    const { nonce } = await pageDataOf(answer);
    assert.deepEqual(Object.fromEntries(directivesOf(answer)), {
      'default-src': ["'none'"],
      'script-src': ["'self'", hashOf(schemeScript)],
      'style-src': ["'self'", `'nonce-${nonce}'`],
      'img-src': ["'self'", 'data:'],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'self'"],
      'frame-ancestors': ["'none'"],
    });
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
    assert.ok(answer.headers.get('x-request-id'));
  }
});

test('the nonce differs at every load', async () => {
  const nonces = await Promise.all(
    [1, 2, 3].map(async () => (await pageDataOf(await ask(service))).nonce ?? ''),
  );
  assert.equal(new Set(nonces).size, 3);
  for (const path of await assetsOf()) {
    const text = await (await fetch(`${service.url}${path}`)).text();
    for (const nonce of nonces) assert.ok(!text.includes(nonce), path);
  }
});

test('the page has the session of its user only', async () => {
  const mine = await pageDataOf(await ask(service, { headers: { cookie } }));
  const { body } = await ada.call('/session');
  assert.deepEqual(mine.data.session, body.data);
  assert.match(
    mine.html,
    /<link rel="preload" as="fetch" crossorigin href="\/portal\/api\/overview">/,
  );
  for (const other of ['', 'orgdir.session_token=made-up.signature', 'theme=dark']) {
    const headers: Record<string, string> = other ? { cookie: other } : {};
    const { data, html } = await pageDataOf(await ask(service, { headers }));
    assert.equal(data.session, null, other);
    assert.doesNotMatch(html, /as="fetch"/);
  }
});

test("a user's name cannot inject HTML", async () => {
  const eve = await signUp(service, 'eve@example.org');
  const headers = { cookie: eve.credentials['cookie'] ?? '' };
  for (const name of [
    '</script><script>alert(1)</script>',
    '<!-- <script>',
    '\u2028\u2029"\\',
    "$& $' $`",
    '&lt;/script&gt;',
  ]) {
    // A provider may have given any name before names were checked.
    await sql`update users set name = ${name} where email = ${eve.email}`.execute(service.database);
    const { data, html } = await pageDataOf(await ask(service, { headers }));
    assert.equal(data.session.user.name, name);
    assert.equal(html.match(/<\/script>/g)?.length, 3, 'the two scripts and the data');
    assert.doesNotMatch(html, /<!--/);
  }
});

test('HEAD responds like GET, without the page, and writes are rejected', async () => {
  const [get, head] = await Promise.all(
    ['GET', 'HEAD'].map((method) => ask(service, { method, path: '/apps' })),
  );
  assert.equal(head?.status, 200);
  assert.equal(head?.headers.get('content-length'), get?.headers.get('content-length'));
  assert.equal(await head?.text(), '');
  const [asset = ''] = await assetsOf();
  for (const path of ['/profile/developer', '/profile/developer/apps', asset])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const { status, headers, text } = await rawRequest(service.url, { method, path });
      assert.equal(status, 405, `${method} ${path}`);
      assert.equal(headers['allow'], 'GET, HEAD, OPTIONS');
      assert.equal(JSON.parse(text).error.code, 'method_not_allowed');
    }
  const asked = await ask(service, { method: 'OPTIONS' });
  assert.equal(asked.status, 204);
  assert.equal(asked.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('assets are cached permanently and compressed', async () => {
  const assets = await assetsOf();
  assert.equal(assets.length, 2);
  const decoders = {
    br: brotliDecompressSync,
    gzip: gunzipSync,
    identity: (bytes: Buffer) => bytes,
  };
  for (const path of assets) {
    const plain: string[] = [];
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip, deflate', 'gzip'],
      ['identity', 'identity'],
    ] as const) {
      const answer = await rawRequest(service.url, {
        path,
        headers: { 'accept-encoding': accepted },
      });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['content-encoding'] ?? 'identity', coding, path);
      assert.match(String(answer.headers['vary']), /accept-encoding/i);
      assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.match(
        String(answer.headers['content-type']),
        path.endsWith('.js') ? /^(text|application)\/javascript/ : /^text\/css/,
      );
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      plain.push(decoders[coding](answer.bytes).toString());
    }
    assert.equal(new Set(plain).size, 1);
  }
});

test('an unknown asset is a 404', async () => {
  for (const path of [
    '/no-such-file.js',
    '/',
    '/..%2findex.html',
    '/..%2f..%2fpackage.json',
    '/%2e%2e/%2e%2e/package.json',
    '/..%5c..%5cpackage.json',
    '/../../../package.json',
    '/%00',
    '/..%c0%af..%c0%afpackage.json',
    '//etc/passwd',
    '/%2fetc%2fpasswd',
    '/.env',
  ]) {
    const { status, headers, text } = await rawRequest(service.url, {
      path: `/profile/developer/assets${path}`,
    });
    assert.equal(status, 404, path);
    assert.equal(JSON.parse(text).error.code, 'not_found', path);
    assert.equal(headers['cache-control'], 'no-store', path);
  }
  const [asset = ''] = await assetsOf();
  const odd = { range: 'bytes=999999999-', 'if-match': '"another"' };
  for (const [name, value] of Object.entries(odd))
    assert.ok(
      (await rawRequest(service.url, { path: asset, headers: { [name]: value } })).status !== 500,
      name,
    );
});

test('the portal works below a path', async () => {
  const env = { PUBLIC_URL: `${testPublicUrl}/developers` };
  const below = await startTestService({ env, beside: service });
  const signedIn = await postPortal(below, '/sign-in', { email: ada.email, password });
  const headers = { cookie: cookiesOf(signedIn) };
  const { data, html } = await pageDataOf(await ask(below, { headers }));
  assert.equal(data.basePath, '/developers');
  assert.equal(data.session.user.email, ada.email);
  assert.match(html, /href="\/developers\/portal\/api\/overview"/);
  const assets = await assetsOf(below);
  assert.equal(assets.length, 2);
  for (const path of assets) {
    assert.match(path, /^\/developers\/profile\/developer\/assets\//);
    // Like a proxy in front of it.
    assert.equal((await fetch(`${below.url}${path.replace('/developers', '')}`)).status, 200);
  }
});

test('without a database the page is sent without the session', async () => {
  const { opened, cut, mend, freeze, thaw } = await openCuttableDatabase(service);
  const { secretKeys } = service;
  const cuttable = await startTestService({ beside: { ...opened, secretKeys } });
  const headers = { cookie };
  assert.ok((await pageDataOf(await ask(cuttable, { headers }))).data.session);
  for (const [fail, heal] of [
    [cut, mend],
    [freeze, thaw],
  ] as const) {
    fail();
    const { data } = await pageDataOf(await ask(cuttable, { headers }));
    assert.ok(!('session' in data));
    const stranger = await ask(cuttable, { headers: { cookie: 'theme=dark' } });
    assert.equal((await pageDataOf(stranger)).data.session, null, 'nothing was read for it');
    heal();
  }
});

test('however many pages a user opens at once, others get connections', async () => {
  await service.call('/webhooks');
  const locking = await service.database.startTransaction().execute();
  await sql`lock table sessions in access exclusive mode`.execute(locking);
  const countWaiting = async () => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*)::int as waiting from pg_locks where relation = 'sessions'::regclass and not granted
    `.execute(locking);
    return rows[0]?.waiting ?? 0;
  };
  const opened = Array.from({ length: 2 * runningMax }, () =>
    ask(service, { headers: { cookie } }),
  );
  await eventually(async () => (await countWaiting()) >= runningMax);
  const { status } = await service.call('/webhooks');
  const waiting = await countWaiting();
  await locking.rollback().execute();
  assert.deepEqual([status, waiting], [200, runningMax]);
  await Promise.all(opened);
});

test('over the rate limit, pages are sent without the session', async () => {
  const limited = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '3' }, beside: service });
  const told: boolean[] = [];
  for (let page = 0; page < 5; page += 1) {
    // Nothing is read for them, so they do not count.
    assert.equal((await pageDataOf(await ask(limited))).data.session, null);
    const { data } = await pageDataOf(await ask(limited, { headers: { cookie } }));
    told.push('session' in data);
  }
  assert.deepEqual(told, [true, true, true, false, false]);
});

test('missing pages are reported with advice', async () => {
  const app = fastify();
  await registerPortalPages(
    app,
    {
      database: service.database,
      signIn: service.signIn,
      publicUrl: testPublicUrl,
      brand: await loadBrand(loadConfig({})),
      version: '0.0.0-test',
      rateLimitPerMinute: 0,
      webhooks: { allowHttp: false, allowedNetworks: [] },
    },
    '/nonexistent/',
  );
  for (const url of ['/profile/developer', '/profile/developer/assets/index.js']) {
    const answer = await app.inject({ url });
    assert.equal(answer.statusCode, 503);
    assert.match(answer.body, /npm run build:portal/);
    assert.ok(answer.headers['retry-after']);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
  await app.close();
});

test('several sessions belong to the same user', async () => {
  const again = await signInAs(service, ada.email);
  const headers = { cookie: again.credentials['cookie'] ?? '' };
  const { data } = await pageDataOf(await ask(service, { headers }));
  assert.equal(data.session.user.email, ada.email);
  assert.notEqual(data.session.id, (await ada.call('/session')).body.data.id);
});
