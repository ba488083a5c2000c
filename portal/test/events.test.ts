import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../../service/src/events/catalogue.ts';
import { put } from '../../service/test/support/directory.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
if (!noBrowser)
  await put(portal.service.database, 'orgs', [
    { slug: 'acme', name: 'Acme', managers: ['ada@example.org'] },
  ]);

test(
  'the catalogue shows every event, its fields and a sample, before there is an app',
  options,
  async () => {
    const page = await portal.open({ as: ada, path: '/events' });
    await page.getByRole('heading', { name: 'org.created' }).waitFor();
    for (const event of Object.keys(catalogue))
      assert.equal(await page.getByRole('heading', { name: event, exact: true }).count(), 1, event);
    await page.getByRole('link', { name: 'Create an app' }).waitFor();
    await page.getByRole('heading', { name: 'resource.offer.created' }).click();
    const fields = page.getByRole('table', { name: 'Fields of data in resource.offer.created' });
    const unit = fields.getByRole('row').filter({ hasText: 'offer.items[].unit' });
    assert.match((await unit.textContent()) ?? '', /string, or null.*pieces/);
    const sample = page.getByRole('region', { name: 'Sample of data in resource.offer.created' });
    assert.deepEqual(
      JSON.parse((await sample.locator('pre').textContent()) ?? ''),
      catalogue['resource.offer.created'].sample,
    );
    await page.getByText('JSON Schema of resource.offer.created', { exact: true }).first().click();
    const schema = page.getByRole('region', { name: 'JSON Schema of resource.offer.created' });
    assert.deepEqual(
      JSON.parse((await schema.locator('pre').textContent()) ?? ''),
      JSON.parse(JSON.stringify(catalogue['resource.offer.created'].data)),
    );
    await assertAccessible(page, 'the catalogue');
  },
);

test('a link leads to one event, and the chosen app stays in the address', options, async () => {
  const app = await ada.call('/apps', { method: 'POST', json: { name: 'Announcer' } });
  const { id } = app.body.data;
  const page = await portal.open({ as: ada, path: '/events#application.created' });
  const entry = page.locator('details[id="application.created"]');
  await entry.getByRole('table').waitFor();
  await page.waitForFunction(
    `document.activeElement === document.getElementById('application.created').querySelector('summary')`,
  );
  await page.getByLabel('For the app').selectOption('Announcer');
  await entry.getByText('Not available to this app: application.created is sent only to').waitFor();
  assert.equal(new URL(page.url()).search, `?app=${id}`);

  await ada.call(`/apps/${id}/binding`, {
    method: 'PUT',
    json: { kind: 'organization', slug: 'acme' },
  });
  await page.reload();
  await page
    .locator('details[id="application.created"]')
    .getByText('Available to this app.')
    .waitFor();
  assert.equal(await page.getByLabel('For the app').inputValue(), id);
  await page.getByText('Not available to this app: resource.offer.created').waitFor();
  await assertAccessible(page, 'the events of an app');

  const other = await ada.call('/apps', { method: 'POST', json: { name: 'Not bound' } });
  await page.reload();
  await page.getByText('Available to this app.').first().waitFor();
  // The permissions of the second app are not known yet, and those of the first must not show.
  await page.route(`**/apps/${other.body.data.id}/events`, () => {});
  await page.getByLabel('For the app').selectOption('Not bound');
  await page.getByText('Available to this app.').first().waitFor({ state: 'detached' });
});
