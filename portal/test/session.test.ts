import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noBrowser } from '../../test/support/browser.ts';
import { create } from './support/create.ts';
import {
  arrival,
  drawn,
  comeBack,
  openPortal,
  portalUrl,
  signUp,
  switchCookies,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();

test(
  'who has signed in in another window is who this one shows, with nothing of the one before',
  options,
  async () => {
    const ada = await signUp(portal.service, 'ada@example.org');
    const bob = await signUp(portal.service, 'bob@example.org');
    await create(ada, '/apps', { name: 'Of Ada alone' });
    const page = await portal.open({ as: ada, path: '/apps' });
    await page.getByRole('link', { name: 'Of Ada alone' }).waitFor();
    await switchCookies(page, bob);
    // The answer does not come: whatever is shown of apps is from before.
    await page.route('**/portal/api/apps', () => {});
    await comeBack(page);
    await page.locator('[aria-busy=true]').first().waitFor();
    assert.equal(await page.getByText('Of Ada alone').count(), 0);
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByText('bob', { exact: true }).waitFor();
  },
);

test('the page stays on the screen while the session cannot be read', options, async () => {
  const cleo = await signUp(portal.service, 'cleo@example.org');
  const { id } = await create(cleo, '/apps', { name: 'Announcer' });
  const page = await portal.open({ as: cleo, path: `/apps/${id}/keys` });
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('On the server');
  const json = {
    success: false,
    error: { code: 'rate_limited', message: 'Too many.', details: {} },
  };
  await page.route('**/portal/api/session', (route) => route.fulfill({ status: 429, json }));
  const refused = arrival(page, (request) => request.url().endsWith('/portal/api/session'));
  await comeBack(page, 'before');
  await refused;
  await drawn(page);
  assert.equal(await name.inputValue(), 'On the server');
});

test('a page that fails says so, and is not blank', options, async () => {
  const dan = await signUp(portal.service, 'dan@example.org');
  const known = await portal.open({ as: dan });
  // A window that may complain.
  const context = await known.context().browser()!.newContext();
  await context.addCookies(await known.context().cookies());
  const page = await context.newPage();
  const json = { success: true, data: null };
  await page.route('**/portal/api/apps', (route) => route.fulfill({ json }));
  await page.goto(`${portalUrl}/apps`);
  await page.getByRole('alert').getByText('This page failed').waitFor();
});

test('a time beyond all clocks in an address is as if it were not there', options, async () => {
  const eve = await signUp(portal.service, 'eve@example.org');
  const { id } = await create(eve, '/apps', { name: 'Announcer' });
  const { id: webhookId } = await create(eve, `/apps/${id}/webhooks`, {
    url: 'https://example.org/',
  });
  const page = await portal.open({
    as: eve,
    path: `/apps/${id}/webhooks/${webhookId}/deliveries?time=own&since=%2B275760-09-13T00:00:00.000Z`,
    timezoneId: 'Asia/Tokyo',
  });
  const from = page.getByLabel('From', { exact: true });
  await from.waitFor();
  assert.equal(await from.inputValue(), '');
});
