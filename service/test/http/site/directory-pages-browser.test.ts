import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../../../portal/test/support/accessibility.ts';
import { openPortal } from '../../../../portal/test/support/portal-browser.ts';
import { noBrowser } from '../../../../test/support/browser.ts';
import { blueprint, put } from '../../support/directory.ts';
import { testPublicUrl, type TestService } from '../../support/service.ts';

const skip = { skip: noBrowser };
const hostile = '<img src=x onerror="document.title=1"></script><script>document.title=1</script>';
const arabic = 'شركة الاتصالات السعودية';

// Whatever a page says on its console, such as a breach of its policy, fails this file.
const browser = noBrowser ? null : await openPortal({ DIRECTORY_PAGES: 'true' });
if (browser) await fill(browser.service);

async function fill(service: TestService): Promise<void> {
  const { database } = service;
  const links = { website: 'https://acme.example/about', chat: null, video: null, social: null };
  await put(database, 'alliances', [
    { slug: 'north', name: 'Northern League', tag: 'NL', description: 'Works of the north.' },
    { slug: 'long', name: `An alliance with ${'a very long name '.repeat(10)}` },
  ]);
  const named = [arabic, '株式会社日立製作所', hostile, 'W'.repeat(200)].map((name, index) => ({
    slug: `named-${index}`,
    name,
    tag: name.slice(0, 20),
    aliases: [name.slice(0, 90)],
    description: `${name}\n`.repeat(4),
    primaryActivity: name.slice(0, 100),
    location: name,
    alliance: index % 2 === 0 ? 'north' : 'long',
    verified: true,
    recruiting: true,
    memberCount: 2_000_000_000,
    links,
  }));
  const many = Array.from({ length: 40 }, (_, index) => ({
    name: `Mill ${index}`,
    description: 'Grinds grain.',
    primaryActivity: ['mills', 'bread', 'trade'][index % 3],
    language: ['de', 'fr', null][index % 3],
    memberCount: index,
    status: index === 7 ? 'closed' : 'active',
    alliance: index % 4 === 0 ? 'north' : null,
  }));
  await put(database, 'orgs', [...named, ...many]);
  const ingredients = Array.from({ length: 12 }, (_, index) => ({
    item: `part-${index}`,
    name: index === 3 ? hostile : `Part ${index}`,
    quantity: index,
    unit: null,
  }));
  await put(database, 'blueprints', [
    blueprint({ key: 'engine', name: 'Engine', category: 'machines', ingredients }),
    blueprint({ key: 'wheel', name: 'Wheel', active: false }),
  ]);
  await service.settled();
}

async function open(path: string, options: object = {}): Promise<Page> {
  assert.ok(browser);
  return browser.open({ url: `${testPublicUrl}${path}`, ...options });
}

test(
  'pages are accessible, fit narrow screens, and run nothing that entries bring',
  skip,
  async () => {
    const page = await open('/orgs');
    for (const path of [
      '/',
      '/?q=mill',
      '/orgs',
      '/orgs?search=mill&activity=bread&sort=-memberCount',
      '/orgs?search=qqqqqq',
      '/orgs?page=abc',
      '/orgs/named-0',
      '/orgs/named-2',
      '/orgs/named-3',
      '/alliances',
      '/alliances/north',
      '/alliances/long',
      '/blueprints',
      '/nothing',
    ]) {
      await page.goto(testPublicUrl + path);
      await assertAccessible(page, path);
      assert.notEqual(await page.title(), '1', path);
    }
  },
);

test('a list follows what is typed, and its address with it', skip, async () => {
  const page = await open('/orgs?activity=bread');
  const field = page.getByRole('searchbox', { name: 'Search organisations' });
  await field.pressSequentially('mill 1');
  await page.getByText('6 organisations', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Most relevant' }).waitFor();
  await page.waitForURL(/\/orgs\?(?=.*search=mill\+1)(?=.*activity=bread)/);
  await field.fill('');
  await page.getByText('13 organisations', { exact: true }).waitFor();
  await field.fill('zzzzzz');
  await page.getByRole('link', { name: 'Show all organisations' }).click();
  await page.getByText('44 organisations', { exact: true }).waitFor();
});

test('everything works without a script', skip, async () => {
  const page = await open('/orgs', { javaScriptEnabled: false });
  const searchbox = page.getByRole('searchbox', { name: 'Search organisations' });
  await searchbox.fill('mill');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByText('40 organisations', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Most members' }).click();
  await page.getByRole('heading', { name: 'Mill 39' }).waitFor();
  await page.getByRole('link', { name: 'mills' }).click();
  await page.getByText('14 organisations', { exact: true }).waitFor();
  assert.equal(await searchbox.inputValue(), 'mill');
  await page.getByRole('link', { name: 'Remove the filter Activity: mills' }).click();
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByText('Page 2 of 2').waitFor();
  await page.getByRole('link', { name: 'Mill 0', exact: true }).click();
  await page.getByRole('heading', { name: 'Mill 0', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Northern League' }).click();
  await page.getByRole('heading', { name: 'Northern League', level: 1 }).waitFor();
});

test('on a narrow screen the filters open on demand', skip, async () => {
  const page = await open('/orgs', { viewport: { width: 390, height: 844 } });
  const filter = page.getByRole('link', { name: 'German' });
  await filter.waitFor({ state: 'hidden' });
  await page.getByText('Filters').click();
  await filter.click();
  await page.getByText('14 organisations', { exact: true }).waitFor();
});

test('a name keeps its direction', skip, async () => {
  const page = await open('/orgs/named-0');
  const heading = page.getByRole('heading', { level: 1 });
  assert.equal(await heading.innerText(), arabic);
  const direction = `getComputedStyle(document.querySelector('h1 bdi')).direction`;
  assert.equal(await page.evaluate(direction), 'rtl');
});
