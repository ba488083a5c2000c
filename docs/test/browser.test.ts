import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../portal/test/support/accessibility.ts';
import { openPortal, signUp } from '../../portal/test/support/portal-browser.ts';
import { create } from '../../portal/test/support/create.ts';
import { suspend } from '../../service/src/access/suspensions.ts';
import { sql } from '../../service/src/database/database.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { put } from '../../service/test/support/directory.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';

const skip = { skip: noBrowser };
/** The bytes that the first page may load. */
const firstLoadBytesMax = 60_000;
/** One page of each kind. */
const kinds = [
  '',
  '/quick-start',
  '/api/listOrgs',
  '/api/createWebhook',
  '/events/org.created',
  '/errors/conflict',
];

// Whatever a page says on its console, such as a breach of its policy, fails this file.
const portal = noBrowser ? null : await openPortal();
const ada = portal && (await signUp(portal.service, 'ada@example.org'));

type Options = Parameters<NonNullable<typeof portal>['open']>[0];

async function openDocs(path: string, options: Options = {}): Promise<Page> {
  assert.ok(portal);
  return portal.open({ url: `${testPublicUrl}/docs${path}`, ...options });
}

/** A link that the search has found: the navigation has links of the same names. */
function result(page: Page, name: RegExp) {
  return page.getByRole('dialog').getByRole('link', { name }).first();
}

test('pages are accessible', skip, async () => {
  const page = await openDocs('');
  for (const kind of kinds) {
    await page.goto(`${testPublicUrl}/docs${kind}`);
    await assertAccessible(page, kind);
  }
});

test(
  'the search finds by keyboard, groups by page, and knows every kind of page',
  skip,
  async () => {
    const page = await openDocs('');
    await page.keyboard.press('/');
    await page.keyboard.insertText('rotate secret');
    await result(page, /Rotate the secret/).waitFor();
    const group = page.getByRole('dialog').getByRole('list', { name: 'Webhook deliveries' });
    await group
      .locator('mark', { hasText: /^rotate$/i })
      .first()
      .waitFor();
    assert.ok((await group.getByRole('link').count()) <= 3);
    const pages = page.getByRole('dialog').locator('ul > li > p');
    const names = await pages.allTextContents();
    assert.equal(new Set(names).size, names.length, 'each page once');
    await pages.filter({ hasText: 'Verify signatures Guide' }).waitFor();
    assert.ok(
      names.some((name) => name.endsWith(' API')),
      names.join(),
    );
    await assertAccessible(page, 'search');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/.+/);
    assert.match(await page.locator('h1').innerText(), /secret|deliver|signature/i);

    await page.keyboard.press('/');
    const wanted = {
      'application.created': 'events/application.created',
      'list alliances': 'api/listAlliances',
      precondition: 'errors/precondition_failed',
      idempotency: 'retries-and-idempotency',
    };
    for (const [query, path] of Object.entries(wanted)) {
      await page.getByRole('searchbox', { name: 'Search' }).fill(query);
      await page.locator(`dialog a[href*="/docs/${path}"]`).first().waitFor();
    }
    await page.getByRole('button', { name: 'Close' }).click();
    await page.locator('dialog').waitFor({ state: 'hidden' });
  },
);

test('on a phone the header is one row, and the menu has what it leaves out', skip, async () => {
  const page = await openDocs('/deliveries', { viewport: { width: 390, height: 844 } });
  const box = await page.locator('header').boundingBox();
  assert.ok(box && box.height <= 72, `${box?.height} px`);
  const status = page.getByRole('link', { name: 'Status', exact: true });
  assert.equal(await status.count(), 0);
  await page.getByRole('button', { name: 'Menu' }).click();
  await status.waitFor();
  await assertAccessible(page, 'the menu of a phone');
  const link = page
    .getByRole('navigation', { name: 'Documentation' })
    .getByRole('link', { name: 'Quick start' });
  await link.click();
  await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor();
  await link.waitFor({ state: 'hidden' });
});

test('the first stop of the keyboard skips the navigation', skip, async () => {
  const page = await openDocs('/deliveries');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#main$/);
  await page.keyboard.press('Tab');
  assert.ok(await page.locator('main :focus').count());
});

test('a page works without storage and clipboard', skip, async () => {
  const page = await openDocs('', { colorScheme: 'light' });
  await page.addInitScript(`
    const blocked = { get() { throw new DOMException('blocked', 'SecurityError'); } };
    Object.defineProperties(window, { localStorage: blocked, sessionStorage: blocked });
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
  `);
  await page.goto(`${testPublicUrl}/docs/api/getStatus`);
  await page.getByRole('button', { name: 'Colours: as the system' }).click();
  await page.locator('html[data-mantine-color-scheme="light"]').waitFor();
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('status').getByText('Not copied: the text is selected').waitFor();
  assert.match(String(await page.evaluate('String(getSelection())')), /^curl /);
});

test(
  'one choice of light, dark or system holds on all pages, the portal included',
  skip,
  async () => {
    assert.ok(ada);
    const page = await openDocs('', { as: ada, colorScheme: 'light' });
    const button = page.getByRole('button', { name: /^Colours: / });
    const dark = page.locator('html[data-mantine-color-scheme="dark"]');
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const grounds = new Set();
    await button.click();
    await button.click();
    for (const path of ['/docs/events', '/', '/status', '/nothing', '/profile/developer']) {
      await page.goto(`${testPublicUrl}${path}`);
      await dark.waitFor();
      await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
      grounds.add(await ground());
    }
    assert.equal(grounds.size, 1, 'one dark background');
    // Another window follows.
    const other = await page.context().newPage();
    await other.goto(testPublicUrl);
    await button.click();
    await other.getByRole('button', { name: 'Colours: as the system' }).waitFor();
    await other.locator('html:not([data-mantine-color-scheme])').waitFor();
  },
);

test(
  'signed out, nobody gets a key, and a chosen language is chosen on every page',
  skip,
  async () => {
    const page = await openDocs('/api/listOrgs');
    await page.getByRole('button', { name: 'Get a temporary key' }).click();
    await page.getByText('Sign in to the developer portal first.').waitFor();
    await page.getByRole('radio', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.getByText('import urllib.request').waitFor();
    await page.goto(`${testPublicUrl}/docs/api/getOrg`);
    await page.getByText('import urllib.request').waitFor();
  },
);

test('a signed-in user sends a request with a temporary key', skip, async () => {
  assert.ok(portal && ada);
  await put(portal.service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await portal.service.settled();
  const page = await openDocs('/api/listOrgs', { as: ada });
  const status = page.getByRole('status');
  await page.getByRole('button', { name: 'Get a temporary key' }).click();
  await status.getByText('Create an app in the developer portal first.').waitFor();
  await create(ada, '/apps', { name: 'Reader' });
  await page.getByRole('button', { name: 'Get a temporary key' }).click();
  await status.getByText('can read the directory until').waitFor();

  await page.getByText('Optional parameters').click();
  await page.getByLabel('limit', { exact: true }).fill('1');
  const sent = page.waitForRequest(/\/api\/v1\/orgs/);
  await page.getByRole('button', { name: 'Send request' }).click();
  assert.equal(new URL((await sent).url()).search, '?limit=1', 'empty parameters are not sent');
  await status.getByText(/^Status 200/).waitFor();
  await page.getByLabel('Response').getByText('"name": "Acme"').waitFor();

  // The key is kept for the other pages of this tab.
  await page.goto(`${testPublicUrl}/docs/api/getOrg`);
  await page.getByLabel('slug').fill('acme');
  let requests = 0;
  page.on('request', (request) => (requests += Number(request.url().endsWith('/orgs/acme'))));
  await page.evaluate(
    `for (let sent = 0; sent < 2; sent += 1) document.querySelector('form').requestSubmit()`,
  );
  await status.getByText(/^Status 200/).waitFor();
  assert.equal(requests, 1, 'one request at a time');
  await page.getByRole('button', { name: 'Get a temporary key' }).click();
  await status.getByText('can read the directory until').waitFor();
  const keys = await sql`select from api_keys where temporary`.execute(portal.service.database);
  assert.equal(keys.rows.length, 1, 'a valid key is used again');

  await sql`update api_keys set revoked_at = now() where temporary`.execute(
    portal.service.database,
  );
  await portal.service.settled();
  await page.getByRole('button', { name: 'Send request' }).click();
  await status.getByText('Get another one').waitFor();

  // One that is suspended gives no keys, but another one does.
  await create(ada, '/apps', { name: 'Other' });
  const { body: apps } = await ada.call('/apps');
  const subject = {
    kind: 'app',
    id: apps.data[0].id,
    appId: apps.data[0].id,
    details: {},
  } as const;
  await portal.service.database
    .transaction()
    .execute((tx) => suspend(tx, testActor, subject, 'Reason of the operator.'));
  await page.getByRole('button', { name: 'Get a temporary key' }).click();
  await status.getByText('can read the directory until').waitFor();
});

test('a request with a body is sent with the key that the reader enters', skip, async () => {
  assert.ok(portal);
  const page = await openDocs('/api/createWebhook');
  await page.getByLabel('API key').fill('odk_…');
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByRole('status').getByText('A key has letters, digits and _ only.').waitFor();
  await page.getByLabel('API key').fill(portal.service.key);
  await page.getByRole('button', { name: 'Send request' }).click();
  await page
    .getByRole('status')
    .getByText(/^Status 201/)
    .waitFor();
});

test('of a huge download the page reads and shows the beginning only', skip, async () => {
  assert.ok(portal);
  const orgs = Array.from({ length: 1_000 }, (_, index) => ({
    slug: `huge-${index}`,
    name: 'Huge',
    description: 'é'.repeat(1_000),
  }));
  await put(portal.service.database, 'orgs', orgs);
  await portal.service.settled();
  const page = await openDocs('/api/downloadOrgs');
  await page.getByLabel('API key').fill(portal.service.key);
  await page.getByRole('button', { name: 'Send request' }).click();
  await page
    .getByRole('status')
    .getByText(/^Status 200, .*The response is longer/)
    .waitFor();
  const shown = await page.getByLabel('Response').textContent();
  assert.match(shown ?? '', /^\{"id":.*"slug":"huge-/s);
  const bytes = Buffer.byteLength(shown ?? '');
  assert.ok(bytes > 400_000 && bytes < 600_000, `${bytes} bytes`);
});

test('of a stream the page shows what comes within some seconds', skip, async () => {
  assert.ok(portal);
  const page = await openDocs('/api/streamEvents');
  await page.getByLabel('API key').fill(portal.service.key);
  await page.getByRole('button', { name: 'Send request' }).click();
  await page
    .getByRole('status')
    .getByText(/^Status 200, .*The stream goes on/)
    .waitFor();
  assert.match((await page.getByLabel('Response').textContent()) ?? '', /^retry: \d+\nid: \S+/);
});

test('a page is small', skip, async () => {
  for (const path of ['', '/api/listOrgs', '/deliveries']) {
    const bytes = await firstLoadBytes(path);
    assert.ok(bytes < firstLoadBytesMax, `${path}: ${bytes} bytes`);
  }
});

/** In a new window, which has nothing in its cache. */
async function firstLoadBytes(path: string): Promise<number> {
  const page = await openDocs(path);
  return page.evaluate(`[
    ...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource'),
  ].reduce((sum, { transferSize }) => sum + transferSize, 0)`);
}
