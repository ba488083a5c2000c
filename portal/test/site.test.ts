/** The pages that the service renders itself, in a browser. */
import { test } from 'node:test';
import { sql } from '../../service/src/database/database.ts';
import { put } from '../../service/test/support/directory.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();

test('the start page and the status page are accessible', options, async () => {
  const { database } = portal.service;
  await put(database, 'orgs', [{ name: 'Acme', description: 'Makes anvils.' }]);
  await sql`
    insert into service_stats (hour, status, bucket, deliveries)
    select date_bin('1 hour', now(), 'epoch') - n * interval '1 day', status, 40, 100 + n
    from generate_series(0, 29) n, unnest(array['succeeded', 'failed']) status
  `.execute(database);
  const page = await portal.open({ url: testPublicUrl });
  await page.getByRole('link', { name: 'Status' }).click();
  await page.getByRole('heading', { name: 'Everything works', level: 1 }).waitFor();
  await assertAccessible(page, 'the status page');
});
