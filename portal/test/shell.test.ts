import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal, portalUrl, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

test('without a connection a page says so, and with one again it goes on', options, async () => {
  const page = await portal.open({ as: ada });
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
  await page.getByText('The service cannot be reached.').waitFor();
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'You have no apps yet' }).waitFor();
  const heading = page.getByRole('heading', { name: 'Apps', level: 1 });
  assert.ok(await heading.evaluate((element) => element === element.ownerDocument.activeElement));
});

test('nobody sees a page, and is sent to sign in and back', options, async () => {
  const page = await portal.open({ path: '/apps?page=2' });
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(page.url(), `${portalUrl}/sign-in?next=%2Fapps%3Fpage%3D2`);
  await assertAccessible(page, 'sign in');
});

test(
  'the way from page to page moves the focus to the heading, and the title of the window',
  options,
  async () => {
    const page = await portal.open({ as: ada });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Apps', exact: true }).click();
    const heading = page.getByRole('heading', { name: 'Apps', level: 1 });
    await heading.waitFor();
    assert.equal(await page.title(), 'Apps · Service developers');
    assert.ok(await heading.evaluate((element) => element === element.ownerDocument.activeElement));
    await assertAccessible(page, 'the shell');
  },
);
