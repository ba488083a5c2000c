import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeQuotas } from '../../service/src/access/quotas.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible, assertReadable } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { openPortal, portalUrl, signUp, visit } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

test(
  'limits of the app are shown, those that the operator has set and the others',
  options,
  async () => {
    const { database } = portal.service;
    const { id } = await create(ada, '/apps', { name: 'Limited' });
    await database
      .transaction()
      .execute((tx) => changeQuotas(tx, testActor, id, { webhooks: 2, rate: 6_000 }));
    await create(ada, `/apps/${id}/webhooks`, { url: 'https://hooks.example/' });
    const page = await portal.open({ as: ada, path: `/apps/${id}/usage` });
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByText('1 of 2').waitFor();
    await page.getByText('Nothing was used on these days.').waitFor();
    await assertAccessible(page, 'usage of an app that has used nothing');
    const shown = (await limits.innerText()).replaceAll(/\s+/g, ' ');
    for (const line of [
      'Webhooks 1 of 2',
      'Valid API keys 0 of 20',
      'Members Up to 50',
      'Requests per minute 6,000, all keys together',
    ])
      assert.ok(shown.includes(line), shown);
    await create(ada, `/apps/${id}/webhooks`, { url: 'https://hooks.example/2' });
    await visit(page, `${portalUrl}/apps/${id}/webhooks`);
    await page.getByText('This app has 2 webhooks and can have 2.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'New webhook' }).count(), 0);
    await visit(page, `${portalUrl}/audit?app=${id}`);
    await page
      .getByText('changed the limits of the app: 6000 requests per minute, 2 webhooks')
      .waitFor();
  },
);

test('requests are shown by day and by key, for as many days as are chosen', options, async () => {
  const { service } = portal;
  await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await service.settled();
  const { id } = await create(ada, '/apps', { name: 'Announcer' });
  const { key, last4 } = await create(ada, `/apps/${id}/keys`, {
    name: 'Server',
    scopes: ['read:directory'],
  });
  for (const path of ['/orgs', '/orgs', '/orgs/none']) await service.call(path, { key });
  await eventually(async () => {
    await service.usage.stop();
    const { body } = await ada.call(`/apps/${id}/usage?days=1`);
    return body.data.days[0].requests === 3;
  });
  const page = await portal.open({ as: ada, path: `/apps/${id}/usage` });
  await page.getByRole('heading', { name: 'Usage of Announcer' }).waitFor();
  const chart = page.getByRole('figure', { name: 'Requests' });
  const days = chart.getByRole('img');
  await days.last().waitFor();
  assert.equal(await days.count(), 30);
  assert.match((await days.last().getAttribute('aria-label')) ?? '', /: 2 succeeded, 1 failed$/);
  await days.last().focus();
  await page.keyboard.press('ArrowLeft');
  const focused = page.locator(':focus');
  assert.match((await focused.getAttribute('aria-label')) ?? '', /: no requests$/);
  const byKey = page.getByRole('region', { name: 'Usage by key' });
  assert.match(await byKey.innerText(), new RegExp(`Server \\(…${last4}\\)\\s+3\\s+1\\s`));
  await assertAccessible(page, 'usage');
  await page.getByRole('radiogroup', { name: 'Days' }).getByText('90 days').click();
  await page.getByRole('heading', { name: 'Last 90 days' }).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await assertReadable(page, 'usage on a phone');
  await page.reload();
  const tabs = page.getByRole('navigation', { name: 'App sections' }).getByRole('link');
  await tabs.first().waitFor();
  assert.equal(await tabs.count(), 7);
  for (const tab of await tabs.all()) {
    const box = await tab.boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  }
  const tops = await tabs.evaluateAll((all) => all.map((tab) => tab.getBoundingClientRect().top));
  const rows = [...new Set(tops)].map((top) => tops.filter((each) => each === top).length);
  assert.deepEqual(rows, [4, 3], 'none stands alone in a row');
});
