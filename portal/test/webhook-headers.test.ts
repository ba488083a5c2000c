/** The headers that an owner adds to deliveries, in the form of a webhook. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const receiver = noBrowser ? null! : await startReceiver();

async function post(path: string, json: object) {
  const { status, body } = await ada.call(path, { method: 'POST', json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}

const button = (within: Page | Locator, name: string) =>
  within.getByRole('button', { name, exact: true });
const assertFocused = (locator: Locator) => locator.and(locator.page().locator(':focus')).waitFor();

test(
  'headers are added, kept, replaced and removed, and their values are not shown again',
  options,
  async () => {
    const appId = (await post('/apps', { name: 'Behind a gateway' })).id;
    const page = await portal.open({ as: ada, path: `/apps/${appId}/webhooks/new` });
    await page.getByLabel('URL').fill(receiver.url);
    const headers = page.getByRole('group', { name: 'Headers' });
    await button(headers, 'Add a header').press('Enter');
    await assertFocused(headers.getByLabel('Name of header 1'));
    await page.keyboard.type('Content-Type');
    await button(page, 'Create webhook').click();
    await headers.getByText('Enter a name and a value for each header').waitFor();
    await headers.getByLabel('Value of header 1').fill('text/plain');
    await button(page, 'Create webhook').click();
    await headers.getByText('Content-Type is not allowed, because').waitFor();
    await assertFocused(headers.getByLabel('Name of header 1'));
    await headers.getByLabel('Name of header 1').fill('Authorization');
    await headers.getByLabel('Value of header 1').fill('Bearer 7f3c9a');
    await button(headers, 'Add a header').click();
    await headers.getByLabel('Name of header 2').fill('authorization');
    await headers.getByLabel('Value of header 2').fill('x');
    await button(page, 'Create webhook').click();
    await headers.getByText('The header authorization is there twice.').waitFor();
    await headers.getByLabel('Name of header 2').fill('X-Tenant');
    await assertAccessible(page, 'headers in the form of a webhook');
    await button(page, 'Create webhook').click();
    await button(page, "Done, I've saved it").click();
    const [{ id }] = (await ada.call(`/apps/${appId}/webhooks`)).body.data;
    const sent = async () => {
      await post(`/apps/${appId}/webhooks/${id}/test`, {});
      const { authorization, 'x-tenant': tenant } = receiver.received.at(-1)?.headers ?? {};
      return [authorization, tenant];
    };
    assert.deepEqual(await sent(), ['Bearer 7f3c9a', 'x']);

    await page
      .getByRole('navigation', { name: 'Webhook sections' })
      .getByRole('link', { name: 'Settings' })
      .click();
    const settings = page.getByRole('region', { name: 'Settings', exact: true });
    await settings.getByText('Authorization, X-Tenant (values hidden)').waitFor();
    await button(settings, 'Edit').click();
    await headers.getByText('Authorization, X-Tenant (values hidden)').waitFor();
    await settings.getByLabel('URL').fill('https://elsewhere.example.org/');
    await headers.getByText('these headers will be removed').waitFor();
    await assertAccessible(page, 'headers that a change of the URL removes');
    await settings.getByLabel('URL').fill(`${receiver.url}/other`);
    await headers.getByText('these headers will be removed').waitFor({ state: 'hidden' });
    await button(settings, 'Save').click();
    await settings.getByText(`${receiver.url}/other`, { exact: true }).waitFor();
    assert.deepEqual(await sent(), ['Bearer 7f3c9a', 'x']);

    await button(settings, 'Edit').click();
    await button(headers, 'Replace the headers').press('Enter');
    await assertFocused(headers);
    assert.equal(await headers.getByLabel('Name of header 1').inputValue(), 'Authorization');
    assert.equal(await headers.getByLabel('Value of header 1').inputValue(), '');
    await headers.getByLabel('Value of header 1').fill('Bearer 2');
    await button(headers, 'Remove header 2').press('Enter');
    await assertFocused(headers);
    await button(settings, 'Save').click();
    await settings.getByText('Authorization (values hidden)').waitFor();
    assert.deepEqual(await sent(), ['Bearer 2', undefined]);

    await button(settings, 'Edit').click();
    await button(headers, 'Remove the headers').click();
    await headers.getByText('Saving removes the headers.').waitFor();
    await button(headers, 'Keep the stored headers').click();
    await headers.getByText('Authorization (values hidden)').waitFor();
    await button(headers, 'Remove the headers').click();
    await button(settings, 'Save').click();
    await button(settings, 'Edit').waitFor();
    assert.deepEqual(await sent(), [undefined, undefined]);
    assert.deepEqual((await ada.call(`/apps/${appId}/webhooks/${id}`)).body.data.headerNames, []);
    assert.ok(!(await page.content()).includes('7f3c9a'));
  },
);
