import assert from 'node:assert/strict';
import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeConsumer } from '../../../client/test/support/consumer.ts';
import { startProgram } from '../../../client/test/support/program.ts';
import { blueprint, put } from '../../../service/test/support/directory.ts';
import { makeKey, startTestService } from '../../../service/test/support/service.ts';
import { launchBrowser, noBrowser } from '../../../test/support/browser.ts';

const service = await startTestService();
await put(service.database, 'blueprints', [
  ...Array.from({ length: 24 }, (_, index) =>
    blueprint({ name: `Gear ${String(index).padStart(2, '0')}` }),
  ),
  blueprint({
    name: '<b>Zeppelin</b>',
    category: 'airships',
    ingredients: [
      { item: 'cloth', name: 'Cloth', quantity: 40, unit: null },
      { item: 'gas', name: 'Gas', quantity: 2, unit: 'barrels' },
    ],
  }),
]);
await service.settled();

const { key } = await makeKey(service, { scopes: ['read:directory'] });
const consumer = await makeConsumer();
const folder = new URL('../', import.meta.url);
const server = startProgram(fileURLToPath(new URL('server.ts', folder)), {
  env: {
    ORGDIR_URL: service.url,
    ORGDIR_API_KEY: key,
    PORT: '0',
    CLIENT_FOLDER: `${consumer.packageFolder}/`,
  },
});
const [, address = ''] = await server.prints(/^(http:\S+)$/m);
const at = (path: string) => new URL(path, address);

test('the script fits the types of the client', async () => {
  const script = await readFile(new URL('public/page.js', folder), 'utf8');
  await consumer.write('page.js', script);
  await symlink(consumer.packageFolder, join(consumer.folder, 'client'));
  assert.equal(await consumer.check({ types: [], files: ['page.js'] }), '');
});

test('all files are served, without a key', async () => {
  const modules = await readdir(consumer.packageFolder);
  const paths = modules.filter((name) => name.endsWith('.js')).map((name) => `client/${name}`);
  assert.ok(paths.length > 10);
  for (const path of ['', 'index.html', 'page.js', 'page.css', ...paths]) {
    const answer = await fetch(at(path));
    assert.equal(answer.status, 200, path);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/(html|javascript|css)/);
    assert.doesNotMatch(await answer.text(), /odk_[A-Za-z0-9]/);
  }
});

test('the proxy forwards only what the page needs', async () => {
  const list = await fetch(at('api/v1/blueprints?search=zeppelin'));
  assert.equal(((await list.json()) as { data: unknown[] }).data.length, 1);
  const etag = list.headers.get('etag') ?? '';
  const again = { headers: { 'if-none-match': etag } };
  assert.equal((await fetch(at('api/v1/blueprints?search=zeppelin'), again)).status, 304);
  assert.equal((await fetch(at('api/v1/blueprints?limit=101'))).status, 400);

  const others = ['orgs', 'events', 'webhooks', 'blueprints/gear-00', 'blueprints/../orgs'];
  const files = ['server.ts', 'package.json', 'client/package.json', 'client/..%2fpage.js', '%00'];
  for (const path of [...others.map((name) => `api/v1/${name}`), ...files])
    assert.equal((await fetch(at(path))).status, 404, path);
  assert.equal((await fetch(at('api/v1/blueprints'), { method: 'POST' })).status, 405);
});

test('the page lists, searches and changes pages in a browser', { skip: noBrowser }, async () => {
  const browser = await launchBrowser();
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  const status = page.getByRole('status');
  const rows = page.locator('tbody tr');

  await page.goto(address);
  await status.getByText('25 blueprints').waitFor();
  assert.equal(await rows.count(), 20);
  assert.equal(await page.getByRole('button', { name: 'Previous page' }).isDisabled(), true);

  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('Page 2 of 2').waitFor();
  assert.equal(await rows.count(), 5);
  assert.equal(new URL(page.url()).search, '?page=2');
  await page.goBack();
  await page.getByText('Page 1 of 2').waitFor();

  await page.getByRole('searchbox').fill('zeppelin');
  await status.getByText('1 blueprint', { exact: true }).waitFor();
  assert.deepEqual(await rows.locator('th, td').allTextContents(), [
    '<b>Zeppelin</b>',
    'airships',
    await rows.locator('td').nth(1).textContent(),
    '40 Cloth, 2 barrels Gas',
  ]);
  await page.reload();
  await status.getByText('1 blueprint', { exact: true }).waitFor();
  assert.equal(await page.getByRole('searchbox').inputValue(), 'zeppelin', 'as the address says');
  assert.deepEqual(faults, []);

  await server.stop();
  await page.getByRole('searchbox').fill('gear');
  await status.getByText('is not available').waitFor();
});
