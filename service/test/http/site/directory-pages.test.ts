import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { sql } from '../../../src/database/database.ts';
import { urlsPerPart } from '../../../src/http/site/directory-pages.ts';
import { disableMaintenance, enableMaintenance } from '../../../src/system/maintenance.ts';
import { testActor } from '../../support/actor.ts';
import { blueprint, put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { startTestService } from '../../support/service.ts';

const publicUrl = 'https://example.org/herald';
const env = { DIRECTORY_PAGES: 'true', PUBLIC_URL: publicUrl };
const firstLoadBytesMax = 60_000;
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const hostile = '"><script>alert(1)</script></script><img src=x onerror=alert(2)>';

const service = await startTestService({ env });
const { database } = service;
const get = (path: string, headers: Record<string, string> = {}) =>
  rawRequest(service.url, { path, headers: { ...browser, ...headers } });

async function createOrgs(...orgs: object[]): Promise<void> {
  await put(database, 'orgs', orgs);
  await service.settled();
}

/** The names on a list, in its order. */
function namesOn(text: string): string[] {
  return [...text.matchAll(/<h2><a [^>]*>([^<]*)</g)].map(([, name = '']) => unescape(name));
}

function unescape(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

function attributes(text: string, name: string): string[] {
  return [...text.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    unescape(value),
  );
}

test('without the setting there are no pages, and nothing leads to them', async () => {
  const other = await startTestService();
  await put(other.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await other.settled();
  const paths = ['/orgs', '/orgs/acme', '/alliances', '/blueprints', '/sitemap.xml'];
  for (const path of [...paths, '/sitemap/orgs-1.xml'])
    assert.equal((await rawRequest(other.url, { path })).status, 404, path);
  for (const path of ['/', '/?q=acme', '/robots.txt', '/docs']) {
    const { status, text } = await rawRequest(other.url, { path });
    assert.equal(status, 200);
    assert.doesNotMatch(text, /href="\/orgs|sitemap/i, path);
  }
});

test('an empty directory says so', async () => {
  for (const kind of ['organisations', 'alliances', 'blueprints'])
    assert.match(
      (await get(`/${kind.replace('organisations', 'orgs')}`)).text,
      new RegExp(`There are no ${kind} yet\\.`),
    );
});

test('organisations are searched, filtered, sorted and paged by addresses', async () => {
  await put(database, 'alliances', [{ slug: 'north', name: 'The North' }]);
  await createOrgs(
    { name: 'Alder Mills', primaryActivity: 'mills', memberCount: 5, alliance: 'north' },
    { name: 'Birch Mills', primaryActivity: 'mills', memberCount: 9, language: 'de' },
    { name: 'Cedar Works', primaryActivity: 'works', memberCount: 7, recruiting: true },
    { name: 'Dogwood Secret', primaryActivity: 'secrets', memberCount: 99, listed: false },
  );
  const all = await get('/orgs');
  assert.deepEqual([all.status, all.headers['content-type']], [200, 'text/html; charset=utf-8']);
  assert.deepEqual(namesOn(all.text), ['Alder Mills', 'Birch Mills', 'Cedar Works']);
  assert.doesNotMatch(all.text, /dogwood|secrets|script src/i);
  assert.match(all.text, />3 organisations</);
  const expected: Record<string, string[]> = {
    '?sort=-memberCount': ['Birch Mills', 'Cedar Works', 'Alder Mills'],
    '?search=mill': ['Birch Mills', 'Alder Mills'],
    '?search=mill&sort=name': ['Alder Mills', 'Birch Mills'],
    '?activity=works': ['Cedar Works'],
    '?alliance=north&recruiting=': ['Alder Mills'],
    '?activity=works&activity=mills&limit=2&page=2': ['Cedar Works'],
    '?memberCountMin=6&recruiting=false': ['Birch Mills'],
  };
  for (const [query, names] of Object.entries(expected))
    assert.deepEqual(namesOn((await get(`/orgs${query}`)).text), names, query);
  const links = attributes(all.text, 'href');
  for (const link of ['?sort=-memberCount', '?activity=mills', '?alliance=north', '/alder-mills'])
    assert.ok(links.includes(`/herald/orgs${link}`), link);
  assert.match(all.text, /orgs\?alliance=north"[^>]*>The North<\/a\s*>\s*<span>1</);
  assert.match(all.text, /orgs\?activity=mills"[^>]*>mills<\/a\s*>\s*<span>2</);
  const filtered = await get('/orgs?activity=mills&language=de&limit=1');
  assert.ok(attributes(filtered.text, 'href').includes('/herald/orgs?language=de&limit=1'));
  assert.match(filtered.text, /aria-label="Remove the filter Language: German"/);
});

test('a list without hits says what to do', async () => {
  const nothing = await get('/orgs?search=qqqqqq&activity=mills');
  assert.equal(nothing.status, 200);
  assert.match(nothing.text, /No organisations match\.[^]*remove a filter[^]*Show all/);
  const past = await get('/orgs?page=77&limit=2');
  assert.match(past.text, /This page is past the last one\./);
  assert.ok(attributes(past.text, 'href').includes('/herald/orgs?page=2&limit=2'));
  const relaxed = await get('/orgs?search=cedar%20zzzzzz');
  assert.match(relaxed.text, /comes close without “zzzzzz”/);
  assert.deepEqual(namesOn(relaxed.text), ['Cedar Works']);
});

test('bad parameters get a page that names them and leads back', async () => {
  const bad: Record<string, RegExp> = {
    'page=abc': /<code>page<\/code> must be integer/,
    'page=0': /<code>page<\/code> must be &#62;= 1/,
    'sort=size': /<code>sort<\/code> must be one of name, -name/,
    'search=%00': /U\+0000/,
    'search=%ff': /mistake|query/,
    [`search=${'a'.repeat(101)}`]: /<code>search<\/code> must NOT have more than 100/,
    'memberCountMin=9&memberCountMax=1': /<code>memberCountMax<\/code> must not be less/,
  };
  for (const [query, message] of Object.entries(bad)) {
    const { status, headers, text } = await get(`/orgs?${query}`);
    assert.deepEqual([status, headers['content-type']], [400, 'text/html; charset=utf-8'], query);
    assert.match(text, message, query);
    assert.ok(attributes(text, 'href').includes('/herald/orgs'), query);
  }
  const json = await rawRequest(service.url, { path: '/orgs?page=abc' });
  assert.equal(JSON.parse(json.text).error.code, 'validation_failed');
});

test('parameters that links pick up on their way change nothing', async () => {
  const { text } = await get('/orgs');
  for (const query of [
    'utm_source=chat',
    'fbclid=1&fbclid=2',
    '%3Cb%3E=1',
    'facets=x',
    '__proto__=1',
  ])
    assert.equal((await get(`/orgs?${query}`)).text, text, query);
});

test('an organisation has everything public on its page', async () => {
  await createOrgs({
    slug: 'acme',
    name: 'Acme Corporation',
    tag: 'ACME',
    aliases: ['Acme Industries'],
    description: 'Makers\nof everything.',
    primaryActivity: 'technology',
    language: 'pt-BR',
    location: 'Porto Alegre',
    memberCount: 1234,
    recruiting: true,
    verified: true,
    alliance: 'north',
    foundedAt: '1995-01-01T00:00:00Z',
    links: { website: 'https://acme.example/about', chat: 'http://chat.example' },
    contactEmail: 'private@example.org',
    notes: 'private notes',
  });
  const { status, text } = await get('/orgs/acme');
  assert.equal(status, 200);
  for (const shown of [
    'Acme Industries',
    'Makers\nof everything.',
    'Brazilian Portuguese',
    'Porto Alegre',
    '1,234',
    'Verified',
    'Recruiting',
    'The North',
    '1995-01-01',
  ])
    assert.ok(text.includes(shown), shown);
  assert.doesNotMatch(text, /private/);
  assert.match(text, /<title>Acme Corporation – Service<\/title>/);
  assert.match(text, /<link rel="canonical" href="https:\/\/example\.org\/herald\/orgs\/acme"/);
  assert.match(text, /property="og:title" content="Acme Corporation"/);
  const outside = text.match(/<a href="https?:[^>]*>/g) ?? [];
  assert.equal(outside.length, 2);
  for (const link of outside) assert.match(link, /rel="ugc nofollow noopener"/);
  assert.deepEqual(readData(text), {
    '@context': 'https://schema.org',
    '@type': 'Organization',
    name: 'Acme Corporation',
    url: `${publicUrl}/orgs/acme`,
    alternateName: ['Acme Industries'],
    description: 'Makers\nof everything.',
    foundingDate: '1995-01-01',
    memberOf: { '@type': 'Organization', name: 'The North' },
    sameAs: ['https://acme.example/about', 'http://chat.example/'],
  });
});

function readData(text: string): Record<string, unknown> {
  const [, data = ''] =
    /<script type="application\/ld\+json">([^]*?)<\/script>/.exec(text) ?? assert.fail('no data');
  return JSON.parse(data);
}

test('an unlisted organisation is the same 404 as an unknown or malformed one', async () => {
  await createOrgs({ slug: 'hidden', name: 'Hidden', listed: false, alliance: 'north' });
  const pages = [];
  for (const slug of ['hidden', 'unknown', 'UPPER', '%00']) {
    const { status, headers, text } = await get(`/orgs/${slug}`);
    const { date: _date, 'x-request-id': _id, ...others } = headers;
    pages.push({ status, others, text });
  }
  for (const page of pages) assert.deepEqual(page, pages[0]);
  assert.equal(pages[0]?.status, 404);
  for (const path of ['/orgs?search=hidden', '/alliances/north', '/sitemap/orgs-1.xml'])
    assert.doesNotMatch((await get(path)).text, /(orgs\/|>)hidden/i, path);
});

test('a former slug leads to the entry while it is listed and the slug is reserved', async () => {
  await createOrgs({ slug: 'old', name: 'Renamed' });
  await sql`update orgs set slug = 'new-name' where slug = 'old'`.execute(database);
  await sql`update alliances set slug = 'far-north' where slug = 'north'`.execute(database);
  await service.settled();
  for (const [from, to] of [
    ['orgs/old', 'orgs/new-name'],
    ['alliances/north', 'alliances/far-north'],
  ] as const) {
    const { status, headers } = await get(`/${from}`);
    assert.deepEqual([status, headers['location']], [301, `/herald/${to}`]);
    assert.equal(headers['cache-control'], 'public, max-age=5');
    assert.equal((await get(`/${to}`)).status, 200);
    assert.equal((await service.call(`/${from}`)).status, 404, 'the API does not redirect');
  }
  await sql`update orgs set listed = false where slug = 'new-name'`.execute(database);
  await service.settled();
  assert.equal((await get('/orgs/old')).text, (await get('/orgs/unknown')).text);
  await sql`update orgs set listed = true where slug = 'new-name'`.execute(database);
  await sql`update former_slugs set left_at = now() - interval '31 days'`.execute(database);
  await service.settled();
  assert.equal((await get('/orgs/old')).status, 404, 'somebody else may take it');
});

test('a slug from before an organisation was listed leads nowhere', async () => {
  await createOrgs({ slug: 'project-secret', name: 'Secret', listed: false });
  await sql`
    update orgs set slug = 'known-name', listed = true where slug = 'project-secret'
  `.execute(database);
  await service.settled();
  assert.equal((await get('/orgs/known-name')).status, 200);
  assert.equal((await get('/orgs/project-secret')).text, (await get('/orgs/unknown')).text);
});

test('hostile texts are shown as texts', async () => {
  const texts = { name: hostile, tag: '<b>"\'&</b>', description: hostile, location: hostile };
  await put(database, 'alliances', [{ slug: 'hostile', ...texts, location: undefined }]);
  await put(database, 'blueprints', [
    blueprint({
      key: hostile,
      slug: 'hostile',
      name: hostile,
      output: { item: hostile, name: hostile, quantity: 1 },
      ingredients: [{ item: hostile, name: hostile, quantity: 2, unit: hostile.slice(0, 40) }],
      sources: [{ kind: 'x', name: hostile }],
    }),
  ]);
  await createOrgs({
    slug: 'hostile',
    ...texts,
    aliases: [hostile],
    primaryActivity: hostile,
    commitment: hostile,
    timezone: hostile,
    alliance: 'hostile',
    links: { website: 'https://a.example/"onmouseover="alert(1)', chat: 'https://[bad' },
  });
  // The import accepts web addresses only.
  await sql`
    update orgs set links = jsonb_set(links, '{video}', '"javascript:alert(1)"') where slug = 'hostile'
  `.execute(database);
  await service.settled();
  const search = encodeURIComponent(hostile);
  for (const path of [
    '/orgs/hostile',
    '/alliances/hostile',
    '/orgs?slug=hostile',
    '/alliances?slug=hostile',
    '/blueprints?slug=hostile',
    `/orgs?search=${search}`,
    `/orgs?location=${search}`,
    `/orgs?${search}=1`,
    `/?q=${search}`,
  ]) {
    const { text } = await get(path);
    assert.doesNotMatch(text, /<script>alert|<img src=x|<b>"|"onmouseover|javascript:/, path);
    assert.doesNotMatch(text, /<\/script><\/script>/, path);
  }
  assert.equal(readData((await get('/orgs/hostile')).text)['name'], hostile);
});

test('a long text is cut between characters', async () => {
  const forest = `a${'🌳'.repeat(200)}`;
  await createOrgs({ name: 'Forest', slug: 'forest', description: forest });
  for (const path of ['/orgs?search=forest', '/orgs/forest']) {
    const { text } = await get(path);
    assert.match(text, /a🌳+…/u);
    assert.doesNotMatch(text, /\uFFFD/);
  }
});

test('images of other sites are shown only if the setting allows it, and only over TLS', async () => {
  const logoUrl = 'https://images.example/logo.png?a=1&b=2';
  await createOrgs(
    { slug: 'pictured', name: 'Pictured Org', logoUrl, bannerUrl: 'http://images.example/b.png' },
    { slug: 'japanese', name: '日立 製作所' },
  );
  const without = await get('/orgs/pictured');
  assert.doesNotMatch(without.text, /images\.example/);
  assert.match(without.text, /<span class="mark"[^>]*>PO<\/span>/);
  assert.match(String(without.headers['content-security-policy']), /img-src 'self';/);
  assert.match((await get('/orgs/japanese')).text, /<span class="mark"[^>]*>日製<\/span>/);
  const other = await startTestService({
    env: { ...env, DIRECTORY_PAGES_IMAGES: 'true' },
    beside: service,
  });
  for (const path of ['/orgs/pictured', '/orgs?search=pictured']) {
    const { headers, text } = await rawRequest(other.url, { path });
    assert.match(String(headers['content-security-policy']), /img-src 'self' https:;/);
    assert.equal(headers['referrer-policy'], 'no-referrer');
    const [image = ''] = text.match(/<img[^>]*images\.example[^>]*>/) ?? [];
    assert.deepEqual(attributes(image, 'src'), [logoUrl]);
    assert.doesNotMatch(text, /b\.png/);
  }
});

test('a page is kept and compressed like a read of the API, and shows a change', async () => {
  const first = await get('/orgs/acme', { 'accept-encoding': 'br' });
  assert.equal(first.headers['cache-control'], 'public, max-age=5');
  assert.equal(first.headers['vary'], 'Accept-Encoding');
  const tag = String(first.headers['etag']);
  const same = await get('/orgs/acme', { 'if-none-match': tag });
  assert.deepEqual([same.status, same.text], [304, '']);
  const compressed = await rawRequest(service.url, {
    path: '/orgs/acme',
    headers: { 'accept-encoding': 'br' },
  });
  assert.equal(compressed.headers['content-encoding'], 'br');
  assert.equal((await rawRequest(service.url, { path: '/orgs/acme', method: 'HEAD' })).text, '');
  await createOrgs({ slug: 'acme', name: 'Acme Changed' });
  const changed = await get('/orgs/acme', { 'if-none-match': tag });
  assert.equal(changed.status, 200);
  assert.match(changed.text, /<h1><bdi>Acme Changed</);
});

test('an alliance has its largest page of members, and blueprints their ingredients', async () => {
  const { text } = await get('/alliances/far-north');
  assert.match(text, /orgs\/alder-mills"[^>]*>Alder Mills<\/a>\s*<span class="soft">5 members</);
  assert.ok(attributes(text, 'href').includes('/herald/orgs?alliance=far-north'));
  const ingredients = Array.from({ length: 12 }, (_, index) => ({
    item: `part ${index}`,
    name: `Part ${index}`,
    quantity: 1_500,
    unit: index === 0 ? 'kg' : null,
  }));
  await put(database, 'blueprints', [
    blueprint({ key: 'engine', name: 'Engine', category: 'machines', ingredients }),
    blueprint({ key: 'wheel', name: 'Wheel', active: false, craftTimeSeconds: 2.5 }),
  ]);
  await service.settled();
  const list = await get('/blueprints?category=machines&category=materials');
  assert.match(list.text, /1,500 kg\s*<a href="\/herald\/blueprints\?ingredient=part%200"/);
  assert.match(list.text, /and 4 more/);
  assert.match(list.text, /Retired/);
  assert.match(list.text, /2\.5 s/);
  assert.deepEqual(namesOn((await get('/blueprints?ingredient=part%2011')).text), ['Engine']);
  assert.match((await get('/blueprints?slug=engine')).text, /Part 11/);
});

test('pages are refused during maintenance, and to an address that asks too often', async (t) => {
  const limited = await startTestService({
    env: { ...env, RATE_LIMIT_PER_MINUTE: '4' },
    beside: service,
  });
  const statuses = [];
  for (const path of ['/orgs', '/?q=acme', '/orgs/unknown', '/sitemap.xml', '/orgs', '/alliances'])
    statuses.push((await rawRequest(limited.url, { path })).status);
  assert.deepEqual(statuses, [200, 200, 404, 200, 429, 429]);

  t.after(() => disableMaintenance(database, testActor));
  await enableMaintenance(database, testActor, { message: 'Moving.', expectedEnd: null });
  await eventually(async () => (await get('/orgs')).status === 503);
  for (const path of ['/orgs/acme', '/alliances', '/blueprints', '/sitemap.xml']) {
    const { status, headers, text } = await get(path);
    assert.equal(status, 503, path);
    assert.match(String(headers['retry-after']), /^\d+$/);
    assert.match(text, /<h1>Moving\.<\/h1>/);
  }
  assert.equal((await get('/')).status, 200);
  await disableMaintenance(database, testActor);
  await eventually(async () => (await get('/orgs')).status === 200);
});

test('the start page leads to the pages', async () => {
  const found = await get('/?q=cedar');
  assert.match(found.text, /<a href="\/herald\/orgs\/cedar-works">Cedar Works<\/a>/);
  assert.doesNotMatch(found.text, /\/api\/v1/);
  assert.match((await get('/?q=engine')).text, /href="\/herald\/blueprints\?slug=engine"/);
  const { text } = await get('/');
  assert.match(text, /href="\/herald\/orgs\/[^"]+">/);
});

test('the sitemap has every public page once, in parts, and robots.txt names it', async () => {
  const many = await startTestService({ env });
  const orgs = Array.from({ length: urlsPerPart + 1 }, (_, index) => ({ name: `Org ${index}` }));
  await put(many.database, 'orgs', [...orgs, { name: 'Hidden', listed: false }]);
  await put(many.database, 'alliances', [{ name: 'The North' }]);
  await many.settled();
  const read = (path: string) => rawRequest(many.url, { path });
  const index = await read('/sitemap.xml');
  assert.equal(index.headers['content-type'], 'application/xml; charset=utf-8');
  const parts = locations(index.text);
  assert.deepEqual(
    parts,
    ['orgs-1', 'orgs-2', 'alliances-1'].map((part) => `${publicUrl}/sitemap/${part}.xml`),
  );
  const pages = [];
  for (const part of parts)
    pages.push(...locations((await read(part.slice(publicUrl.length))).text));
  assert.equal(pages.length, new Set(pages).size);
  assert.equal(pages.length, orgs.length + 1);
  assert.ok(pages.includes(`${publicUrl}/orgs/org-7`));
  assert.ok(!pages.includes(`${publicUrl}/orgs/hidden`));
  for (const part of ['orgs-3', 'orgs-0', 'orgs-01', 'blueprints-1', 'orgs', '..%2f'])
    assert.equal((await read(`/sitemap/${part}.xml`)).status, 404, part);
  const robots = (await read('/robots.txt')).text;
  assert.match(robots, /^Sitemap: https:\/\/example\.org\/herald\/sitemap\.xml$/m);
  assert.match(robots, /^Disallow: \/herald\/orgs\?$/m);
});

function locations(text: string): string[] {
  return [...text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, location = '']) => location);
}

test('the largest pages stay small when they are compressed', async () => {
  const letters = (from: number, count: number, length: number) =>
    Array.from({ length: count }, (_, word) =>
      String.fromCodePoint(
        ...Array.from({ length }, (__, at) => from + ((word * 7919 + at * 104_729) % 5_000)),
      ),
    );
  const names = letters(0x4e00, 100, 60);
  const descriptions = letters(0x4e00, 100, 5_000);
  await put(database, 'alliances', [{ slug: 'large', name: names[0] }]);
  await createOrgs(
    ...names.map((name, index) => ({
      name,
      slug: `large-${index}`,
      description: descriptions[index],
      alliance: 'large',
    })),
  );
  for (const path of [
    '/orgs?limit=100',
    '/orgs?alliance=large',
    '/orgs/large-1',
    '/alliances/large',
  ]) {
    const { text } = await get(path);
    const bytes = await promisify(brotliCompress)(Buffer.from(text), {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5 },
    });
    assert.ok(bytes.length < firstLoadBytesMax, `${path}: ${bytes.length} bytes`);
  }
});
