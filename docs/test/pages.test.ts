import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { eventually } from '../../service/test/support/eventually.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { errorCatalogue } from '../../service/src/errors.ts';
import { version } from '../../service/src/runtime/version.ts';
import { sections } from '../site/navigation.ts';
import { root } from './support/reader.ts';

const publicUrl = 'https://directory.test/base';
const service = await startTestService({ env: { SERVICE_NAME: 'Atlas', PUBLIC_URL: publicUrl } });
const paths = sections
  .flatMap(({ pages }) => pages)
  .map(({ path }) => `/docs${path && `/${path}`}`);
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}${path}`, { headers, redirect: 'manual' });

const texts = new Map<string, string>();
for (const path of paths) {
  const response = await get(path);
  assert.equal(response.status, 200, path);
  texts.set(path, await response.text());
}

test('every operation, event and error code has a page', () => {
  const {
    paths: operations,
    webhooks,
    components,
  } = JSON.parse(readFileSync(`${root}openapi.json`, 'utf8'));
  const ids = Object.values(operations).flatMap((methods) =>
    Object.values(methods as object).map(({ operationId }) => `/docs/api/${operationId}`),
  );
  const events = Object.keys(webhooks).map((name) => `/docs/events/${name}`);
  const returned = Object.values(components.responses).flatMap((response: any) =>
    Object.keys(response.content['application/json'].examples),
  );
  const codes = [...returned, ...Object.keys(errorCatalogue)].map((code) => `/docs/errors/${code}`);
  const missing = [...ids, ...events, ...codes].filter((path) => !texts.has(path));
  assert.deepEqual(missing, []);
  assert.ok(ids.length > 15 && events.length > 10 && returned.length > 10);
});

test('the navigation, the heading and the window name a page alike', () => {
  const plain = (html = '') => html.replace(/<\/?code>/g, '').replaceAll('&#39;', "'");
  const links = /<a href="\/base(\/docs[^"]*)"[^>]*>([^<]*)<\/a>/g;
  const [menu = ''] = /<nav id="menu"[^]*?<\/nav>/.exec(texts.get('/docs') ?? '') ?? [];
  const names = new Map([...menu.matchAll(links)].map(([, path, name]) => [path, plain(name)]));
  for (const [path, text] of texts) {
    const heading = plain(/<h1>(.*?)<\/h1>/.exec(text)?.[1]);
    const title = plain(/<title>(.*?) – Atlas<\/title>/.exec(text)?.[1]);
    assert.ok(title);
    assert.deepEqual([heading, names.get(path)], [title, title], path);
  }
});

test('every link leads to a page and a heading', async () => {
  const broken: string[] = [];
  const elsewhere = new Set<string>();
  for (const [path, text] of texts)
    for (const [, link = ''] of text.matchAll(/ (?:href|src|data-search)="([^"]*)"/g)) {
      if (/^https?:/.test(link)) continue;
      const { pathname, hash } = new URL(link, `${publicUrl}${path}`);
      const inside = pathname.replace(/^\/base/, '');
      const target = texts.get(inside);
      if (target === undefined) elsewhere.add(inside);
      else if (hash && !target.includes(`id="${hash.slice(1)}"`)) broken.push(`${path}: ${link}`);
    }
  assert.deepEqual(broken, []);
  for (const path of elsewhere) assert.equal((await get(path)).status, 200, path);
});

test('pages have the name and the address of this service', () => {
  const all = [...texts.values()].join('');
  // Highlighting must not split a mark.
  const mark = /\{\{|zMark|127\.0\.0\.1:3000|directory\.example\.org|\bx-service-/i;
  for (const text of [all, all.replaceAll(/<[^>]*>/g, '')])
    assert.deepEqual(
      text.split('\n').filter((line) => mark.test(line)),
      [],
    );
  const page = texts.get('/docs/api/listOrgs') ?? '';
  assert.match(page, /<title>List organisations – Atlas<\/title>/);
  assert.match(page, /https:\/\/directory\.test\/base\/api\/v1\/orgs/);
  assert.match(page, /href="\/base\/docs\/api\/listOrgs" aria-current="page"/);
  assert.match(texts.get('/docs/deliveries') ?? '', /X-Atlas-Signature/);
  assert.match(texts.get('/docs/quick-start') ?? '', /'x-atlas-signature'/);
});

test("pages name the client's files that this service serves", async () => {
  const files = [...texts.values()].flatMap((text) =>
    [
      ...text
        .replaceAll(/<[^>]*>/g, '')
        .matchAll(/\/client\/orgdir-client-[^\s,:]+\.(?:tgz|js|d\.ts)/g),
    ].map(([file]) => file),
  );
  assert.deepEqual(
    [...new Set(files)].toSorted(),
    ['d.ts', 'js', 'tgz'].map((ending) => `/client/orgdir-client-${version}.${ending}`),
  );
  for (const file of new Set(files)) assert.equal((await get(file)).status, 200, file);
  for (const [path, text] of texts) assert.doesNotMatch(text, /orgdir-client-X/, path);
});

test('pages with the command `npx orgdir` say where it comes from', () => {
  const withCommand = [...texts].filter(([, text]) =>
    text.replaceAll(/<[^>]*>/g, '').includes('npx orgdir'),
  );
  assert.ok(withCommand.length > 5);
  for (const [path, text] of withCommand)
    assert.match(text, /docs\/command-line#where-to-run-it"|id="where-to-run-it"/, path);
});

test('samples take the secret from WEBHOOK_SECRET', () => {
  let named = 0;
  for (const [path, text] of texts)
    // The names of environment variables and of shell variables that are set.
    for (const [, name] of text
      .replaceAll(/<[^>]*>/g, '')
      .matchAll(/(?:\benv(?:iron|iron\.get)?\W+|getenv\W+|Getenv\W+|^)(\w*SECRET)\b/gm)) {
      named += 1;
      assert.equal(name, 'WEBHOOK_SECRET', path);
    }
  assert.ok(named > 10, `${named}`);
});

test('pages name no file that the site does not have', () => {
  for (const [path, text] of texts)
    assert.equal(text.match(/decision \d|delivery-speed|openapi\.internal/)?.[0], undefined, path);
});

test('the command for generated clients names every API', () => {
  const { tags } = JSON.parse(readFileSync(`${root}openapi.json`, 'utf8'));
  const page = texts.get('/docs/generated-clients')?.replaceAll(/<[^>]*>/g, '') ?? '';
  const [, apis = ''] = /APIS=([\w:]+)/.exec(page) ?? [];
  const names = (tags as { name: string }[]).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => !['Webhook events', 'Description'].includes(name)).toSorted(),
    apis.split(':'),
  );
});

test('every page is Markdown too, and llms.txt lists them', async () => {
  const list = await get('/llms.txt');
  assert.equal(list.headers.get('content-type'), 'text/plain; charset=utf-8');
  const links = [...(await list.text()).matchAll(/\]\((\S+)\)/g)].map(([, link = '']) => link);
  assert.equal(links.length, paths.length);
  for (const link of links) {
    const response = await get(link.replace(publicUrl, ''));
    assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8', link);
    const text = await response.text();
    assert.match(text, /^# /);
    assert.doesNotMatch(text, /\{\{|<!--/, link);
  }
});

test('a list of links to source files shows the files', async () => {
  const path = '/docs/verify-signatures';
  const page = texts.get(path) ?? '';
  const markdown = await (await get(`${path}.md`)).text();
  for (const language of ['TypeScript', 'Python', 'Go', 'PHP', 'Shell'])
    assert.match(page, new RegExp(`type="radio" name="[^"]+" value="${language}"`));
  for (const text of [page, markdown]) assert.match(text, /compare_digest[^]*hash_equals/);
});

test('pages come compressed, with a tag for each encoding', async () => {
  const tags = new Set<unknown>();
  for (const encoding of ['identity', 'br', 'gzip']) {
    const response = await eventually(async () => {
      const each = await get('/docs/events', { 'accept-encoding': encoding });
      return (each.headers.get('content-encoding') ?? 'identity') === encoding && each;
    });
    assert.equal(response.headers.get('vary'), 'Accept-Encoding');
    assert.equal(await response.text(), texts.get('/docs/events'));
    const tag = response.headers.get('etag') ?? '';
    const again = await get('/docs/events', { 'accept-encoding': encoding, 'if-none-match': tag });
    assert.equal(again.status, 304);
    tags.add(tag);
  }
  assert.equal(tags.size, 3);
});

test('scripts and styles come compressed and may be kept for ever', async () => {
  const page = texts.get('/docs') ?? '';
  const assets = [...page.matchAll(/"\/base(\/docs\/assets\/[^"]+)"/g)].map(
    ([, path = '']) => path,
  );
  assert.equal(assets.length, 3);
  for (const path of assets)
    for (const encoding of ['br', 'gzip']) {
      const response = await get(path, { 'accept-encoding': encoding });
      assert.equal(response.headers.get('content-encoding'), encoding, path);
      assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    }
});

test('pages run only scripts of this server', async () => {
  const { headers } = await get('/docs');
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /^default-src 'none'; style-src 'self' 'sha256-[^']+'; script-src 'self' 'sha256-[^']+'; connect-src 'self';/,
  );
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  for (const [path, text] of texts) {
    assert.equal(text.match(/<script(?!\s+src)/g)?.length, 1, `${path}: the colour scheme's`);
    assert.doesNotMatch(text, / style="| on\w+="/, path);
  }
});

test('other addresses are 404, other methods 405, and /docs/ leads to /docs', async () => {
  for (const path of ['/docs/nothing', '/docs/assets/nothing.js'])
    assert.equal((await get(path)).status, 404, path);
  const url = `${service.url}/docs/guides/verify-signature?<b>`;
  const unknown = await fetch(url, { headers: { accept: 'text/html' } });
  const page = await unknown.text();
  assert.deepEqual(
    [unknown.status, unknown.headers.get('content-type')],
    [404, 'text/html; charset=utf-8'],
  );
  for (const part of ['id="menu"', 'id="open-search"', 'href="/base/docs/verify-signatures"'])
    assert.ok(page.includes(part), part);
  assert.ok(!page.includes('<b>'));
  const posted = await fetch(`${service.url}/docs`, { method: 'POST' });
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
  const slash = await get('/docs/');
  assert.deepEqual([slash.status, slash.headers.get('location')], [301, '/base/docs']);
});
