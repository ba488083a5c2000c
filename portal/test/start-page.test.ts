import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put } from '../../service/test/support/directory.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
if (!noBrowser) {
  await put(portal.service.database, 'orgs', [{ name: 'Quokka <b>Works</b>' }]);
  await portal.service.settled();
}

test('the start page shows hits while somebody types', options, async () => {
  const page = await portal.open({ url: testPublicUrl });
  const box = page.getByRole('searchbox');
  await box.fill('quoka');
  await page.locator('#results').getByText('Quokka <b>Works</b>').waitFor();
  assert.equal(page.url(), `${testPublicUrl}/?q=quoka`, 'the address can be shared');
  await assertAccessible(page, 'the start page with hits');
  await box.fill('nowhere');
  await page.getByText('Nothing found.').waitFor();
  await box.fill('');
  await page.getByText('Nothing found.').waitFor({ state: 'detached' });
});

test('the search of the start page works without JavaScript', options, async () => {
  const page = await portal.open({ url: testPublicUrl, javaScriptEnabled: false });
  await page.getByRole('searchbox').fill('works');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('#results').getByText('Quokka <b>Works</b>').waitFor();
  assert.equal(page.url(), `${testPublicUrl}/?q=works`);
});
