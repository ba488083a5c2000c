import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runningMax } from '../../../src/http/admission/caller-turns.ts';
import { loadConfig } from '../../../src/settings/config.ts';
import { loadBrand } from '../../../src/http/site/brand.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { startTestService } from '../../support/service.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { sql } from '../../../src/database/database.ts';
import { testActor } from '../../support/actor.ts';
import { disableMaintenance, enableMaintenance } from '../../../src/system/maintenance.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const service = await startTestService({
  env: { SERVICE_NAME: 'Herald', BRAND_COLOR: '#FFD43B', PUBLIC_URL: 'https://example.org/herald' },
});
const get = (path: string, headers: Record<string, string> = {}) =>
  rawRequest(service.url, { path, headers });
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

async function createOrg(name: string, listed = true): Promise<void> {
  await put(service.database, 'orgs', [{ name, listed, description: 'Makers of & <things>' }]);
  await service.settled();
}

test('the start page of an empty directory has no organisation', async () => {
  const { status, headers, text } = await get('/');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.match(text, /<dt>Organisations<\/dt>\s*<dd>0<\/dd>/);
  assert.doesNotMatch(text, /Newest organisations/);
});

test('the start page shows listed organisations only, and a request with its response', async () => {
  await createOrg('Acme <b>& Sons</b>');
  await createOrg('Unlisted Society', false);
  const { text } = await get('/');
  assert.match(text, /<h3 dir="auto">Acme &#60;b&#62;&#38; Sons&#60;\/b&#62;<\/h3>/);
  assert.doesNotMatch(text, /society/i);
  assert.match(text, /curl https:\/\/example\.org\/herald\/api\/v1\/orgs\/acme-b-sons-b /);
  const [, shown = ''] = /<pre [^>]*aria-label="Its response">([^<]*)<\/pre>/.exec(text) ?? [];
  const response = JSON.parse(
    shown.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
  );
  assert.deepEqual(response, (await service.call('/orgs/acme-b-sons-b')).body);
});

test('the start page has a tag, and loads nothing but the logo and the typeface', async () => {
  const { headers, text } = await get('/');
  assert.doesNotMatch(text, /<script[^>]|<link(?![^>]*rel="(icon|preload)")/);
  const sources = [...text.matchAll(/(?:src=|rel="[a-z]*" href=|url\()"([^"]*)"/g)].map(
    ([, source = '']) => source,
  );
  assert.deepEqual(
    [...new Set(sources.map((source) => source.replace(/\?v=[\w-]{12}$/, '')))].sort(),
    ['/herald/font.woff2', '/herald/logo'],
  );
  assert.match(
    String(headers['content-security-policy']),
    /^default-src 'none'; style-src 'sha256-\S*; script-src 'sha256-\S* 'sha256-\S*; connect-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
  );
  const again = await get('/', { 'if-none-match': String(headers['etag']) });
  assert.equal(again.status, 304);
});

test('pages are small, with the logo and the typeface', async () => {
  const shared = await Promise.all(['/logo', '/font.woff2'].map((path) => get(path)));
  const rest = shared.reduce((sum, { headers }) => sum + Number(headers['content-length']), 0);
  for (const path of ['/', '/status', '/nothing']) {
    const { text } = await get(path, browser);
    assert.ok(Buffer.byteLength(text) + rest <= 60_000, path);
  }
});

test('the typeface is kept for good, and named by its content', async () => {
  const { status, headers } = await get('/font.woff2?v=any');
  assert.deepEqual(
    [status, headers['content-type'], headers['cache-control']],
    [200, 'font/woff2', 'public, max-age=31536000, immutable'],
  );
  assert.ok(Number(headers['content-length']) <= 40_000);
});

test('the start page searches without a script, and shows nothing unlisted', async () => {
  await createOrg('Zanzibar <i>Society</i>');
  const found = await get('/?q=zanzbiar%20society');
  assert.equal(found.status, 200);
  assert.match(found.text, /<strong dir="auto">Zanzibar &#60;i&#62;Society&#60;\/i&#62;<\/strong>/);
  assert.match(found.text, /<code>\/api\/v1\/orgs\/zanzibar-i-society-i<\/code>/);
  assert.match(found.text, /value="zanzbiar society"/);
  const hidden = await get('/?q=unlisted');
  assert.match(hidden.text, /Nothing found/);
  for (const query of ['q=', 'q=%20', 'q', 'other=1'])
    assert.match((await get(`/?${query}`)).text, /Newest organisations/);
  for (const query of ['q=a&q=b', 'q=%00a', `q=${'a'.repeat(500)}`, 'q=%ff', 'q="><script>'])
    assert.equal((await get(`/?${encodeURI(query)}`)).status, 200, query);
  assert.match(
    (await get(`/?q=${encodeURIComponent('"><b>')}`)).text,
    /value="&#34;&#62;&#60;b&#62;"/,
  );
});

test('an address that searches too often is limited, and still gets the start page', async () => {
  const limited = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '2' } });
  const statuses = [];
  for (const path of ['/?q=a', '/?q=b', '/?q=c', '/'])
    statuses.push((await rawRequest(limited.url, { path })).status);
  assert.deepEqual(statuses, [200, 200, 429, 200]);
});

test('texts are cut between characters, and run in their own direction', async () => {
  await put(service.database, 'orgs', [
    { name: 'حديقة (Garden) 12', slug: 'garden', description: `a${'🌳'.repeat(200)}` },
  ]);
  await service.settled();
  const { text } = await get('/');
  assert.match(text, /<h3 dir="auto">حديقة \(Garden\) 12<\/h3>\s*<p dir="auto">a🌳+…<\/p>/u);
  const long = `${'a'.repeat(99)}🌳`;
  const searched = await get(`/?q=${encodeURIComponent(long)}`);
  assert.match(searched.text, /value="a{99}"/);
  assert.match((await get('/?q=garden')).text, /<strong dir="auto">حديقة/);
});

async function lockOrgs(t: TestContext) {
  const locking = await service.database.startTransaction().execute();
  t.after(() => locking.rollback().execute());
  await sql`lock table orgs in access exclusive mode`.execute(locking);
  return async () => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*)::int as waiting from pg_locks where relation = 'orgs'::regclass and not granted
    `.execute(locking);
    return rows[0]?.waiting ?? 0;
  };
}

test('however often an address searches at once, others get connections', async (t) => {
  await get('/?q=zanzibar');
  await service.call('/webhooks');
  const countWaiting = await lockOrgs(t);
  const searches = Array.from({ length: 2 * runningMax }, () => get('/?q=zanzibar'));
  await eventually(async () => (await countWaiting()) >= runningMax);
  assert.equal((await service.call('/webhooks')).status, 200);
  assert.equal(await countWaiting(), runningMax);
  t.after(() => Promise.all(searches));
});

test('the start page waits for its organisations for a moment only', async (t) => {
  const other = await startTestService({ beside: service });
  const countWaiting = await lockOrgs(t);
  const { status, text } = await rawRequest(other.url, { path: '/' });
  assert.equal(status, 200);
  assert.doesNotMatch(text, /Newest organisations/);
  assert.equal(await countWaiting(), 1, 'the database has not answered');
});

test('a search waits for the database for a moment only', async (t) => {
  const other = await startTestService({ beside: service });
  const countWaiting = await lockOrgs(t);
  const { status, text } = await rawRequest(other.url, { path: '/?q=zanzibar' });
  assert.equal(status, 200);
  assert.match(text, /The search is not available at the moment/);
  assert.ok((await countWaiting()) > 0, 'the database has not answered');
});

test('the start page shows maintenance', async () => {
  const { database, health } = service;
  await enableMaintenance(database, testActor, { message: 'Moving.', expectedEnd: null });
  const shows = async (pattern: RegExp) => {
    await health.stop();
    await health.start();
    return pattern.test((await get('/')).text);
  };
  assert.ok(await shows(/<strong>Maintenance\.<\/strong> Moving\./));
  await disableMaintenance(database, testActor);
  assert.ok(!(await shows(/Maintenance\./)));
});

test('the status page of a new service shows that it works and has no history', async () => {
  const { status, headers, text } = await get('/status');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(headers['cache-control'], 'public, max-age=5');
  assert.match(text, /<h1 class="state ok">Everything works<\/h1>/);
  assert.match(text, /Last chat sync<\/th>\s*<td>Never<\/td>/);
  assert.match(text, /Last 24 hours<\/th>\s*<td>–<\/td>\s*<td>–<\/td>\s*<td>–<\/td>/);
  assert.doesNotMatch(text, /<th scope="row">\d{4}-/);
  assert.doesNotMatch(text, /<script[^>]|style="/);
  assert.match((await get('/')).text, /href="\/herald\/status"\s*>Status</);
  assert.equal((await rawRequest(service.url, { path: '/status', method: 'POST' })).status, 405);
});

test('the status page has success and delay of all deliveries together, and past maintenance', async (t) => {
  const { database } = service;
  t.after(() => sql`delete from service_stats`.execute(database));
  await sql`
    insert into service_stats (hour, status, bucket, deliveries)
    select date_bin('1 day', now(), 'epoch') - days * interval '1 day', status, bucket, deliveries
    from (values (1, 'succeeded', 40, 9999), (1, 'failed', 0, 1), (2, 'failed', 0, 1), (2, 'cancelled', 0, 5), (31, 'failed', 0, 1))
      as given(days, status, bucket, deliveries)
  `.execute(database);
  await enableMaintenance(database, testActor, { message: 'Moving.', expectedEnd: null });
  await disableMaintenance(database, testActor);
  // A service that starts now has not heard of the maintenance while it was on.
  const other = await startTestService({ beside: service });
  const { text } = await rawRequest(other.url, { path: '/status' });
  const row = (day: number) => {
    const name = new Date(Date.now() - day * 86_400_000).toISOString().slice(0, 10);
    return new RegExp(`<th scope="row">${name}</th>([^]*?)</tr>`).exec(text)?.[1] ?? '';
  };
  assert.match(row(1), /99\.99 %[^]*939 ms[^]*939 ms/);
  assert.match(row(2), />0 %[^]*–[^]*–/);
  assert.match(row(0), />–<[^]*–[^]*–/);
  assert.equal(row(3), '', 'before the first delivery');
  assert.match(text, /Past maintenance<\/h2>\s*<table>/);
  assert.doesNotMatch(text, /Moving/);
});

test('the status page without its database says so', async () => {
  const { health } = service;
  await health.stop();
  await eventually(async () => health.snapshot().components.database === 'unavailable');
  const { status, text } = await get('/status');
  assert.equal(status, 200);
  assert.match(text, /There is a problem/);
  assert.match(text, /The history is not available/);
  await health.start();
});

test('browsers get errors as a page, and programs as JSON', async () => {
  const page = await get('/nowhere', browser);
  assert.deepEqual([page.status, page.headers['content-type']], [404, 'text/html; charset=utf-8']);
  assert.equal(page.headers['vary'], 'Accept');
  assert.match(page.text, /<h1>There is no such page/);
  assert.match(page.text, /<title>There is no such page/);
  const json = await get('/nowhere');
  assert.equal(json.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(json.headers['vary'], 'Accept');
  assert.equal(JSON.parse(json.text).error.code, 'not_found');
});

for (const path of ['/api/v1/nowhere', '/portal/api/nowhere', '/api/v1/nowhere?x'])
  test(`${path} answers in JSON to browsers too`, async () => {
    const { headers } = await get(path, browser);
    assert.match(String(headers['content-type']), /^application\/json/);
    assert.doesNotMatch(String(headers['vary']), /Accept/);
  });

test('addresses that people try redirect below the public address', async () => {
  const expected = {
    '/openapi.json': '/herald/api/v1/openapi.json',
    '/api/v1': '/herald/api/v1/openapi.json',
    '/api/v1/?x': '/herald/api/v1/openapi.json',
    '/client/': '/herald/client',
  };
  for (const [path, to] of Object.entries(expected))
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await rawRequest(service.url, { path, method });
      assert.deepEqual([status, headers['location']], [301, to], path);
      assert.equal((await get(to.replace('/herald', ''))).status, 200, to);
    }
});

test('robots.txt lets crawlers read the pages and the description of the API only', async () => {
  const { status, headers, text } = await get('/robots.txt');
  assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8']);
  const rules = [...text.matchAll(/^(Allow|Disallow): (\S+)$/gm)];
  // RFC 9309: the longest rule that matches decides.
  const isAllowed = (path: string) =>
    rules
      .filter(([, , prefix = '']) => path.startsWith(prefix))
      .sort(([, , a = ''], [, , b = '']) => b.length - a.length)[0]?.[1] !== 'Disallow';
  for (const path of ['/', '/docs/events', '/status', '/client', '/api/v1/openapi.json'])
    assert.ok(isAllowed(`/herald${path}`), path);
  for (const path of ['/?q=acme', '/api/v1/orgs', '/portal/api/session', '/profile/developer/apps'])
    assert.ok(!isAllowed(`/herald${path}`), path);
});

test('other methods are refused', async () => {
  for (const path of ['/', '/logo', '/robots.txt', '/openapi.json', '/api/v1', '/client/']) {
    const { status, headers } = await rawRequest(service.url, { path, method: 'POST' });
    assert.deepEqual([status, headers['allow']], [405, 'GET, HEAD, OPTIONS']);
  }
});

test('the logo of the operator is served, and a colour gets readable text', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'logo.svg');
  await writeFile(file, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  const brand = await loadBrand(loadConfig({ BRAND_LOGO: file, BRAND_COLOR: '#000080' }));
  assert.deepEqual([brand.logo.type, brand.onColor], ['image/svg+xml', '#ffffff']);
  assert.equal((await loadBrand(loadConfig({ BRAND_COLOR: '#ffd43b' }))).onColor, '#000000');
});

test('a logo that cannot be used stops the start with a reason', async () => {
  const folder = await temporaryFolder();
  const large = join(folder, 'large.png');
  await writeFile(large, Buffer.alloc(100 * 1024 + 1));
  const refusals: [string, RegExp][] = [
    [join(folder, 'missing.svg'), /^BRAND_LOGO cannot be read \(ENOENT\): .*missing\.svg$/],
    [join(folder, 'logo.gif'), /^BRAND_LOGO must be an \.svg or \.png file: .*logo\.gif$/],
    [large, /^BRAND_LOGO must be at most 100 KiB: /],
  ];
  for (const [file, message] of refusals)
    await assert.rejects(loadBrand(loadConfig({ BRAND_LOGO: file })), { message });
});
