/** The pages that the service renders itself, in a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../service/src/database/database.ts';
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

test(
  'the start page shows hits while somebody types, and leads to the status',
  options,
  async () => {
    await sql`
    insert into service_stats (hour, status, bucket, deliveries)
    select date_bin('1 hour', now(), 'epoch') - n * interval '1 day', status, 40, 100 + n
    from generate_series(0, 29) n, unnest(array['succeeded', 'failed']) status
  `.execute(portal.service.database);
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
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByRole('heading', { name: 'Everything works', level: 1 }).waitFor();
    await assertAccessible(page, 'the status page');
  },
);

test('the search of the start page works without JavaScript', options, async () => {
  const page = await portal.open({ url: testPublicUrl, javaScriptEnabled: false });
  await page.getByRole('searchbox').fill('works');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('#results').getByText('Quokka <b>Works</b>').waitFor();
  assert.equal(page.url(), `${testPublicUrl}/?q=works`);
});
