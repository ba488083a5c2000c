/** The form of a webhook: its headers and filters, and channels of chat platforms. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { discordPath, startChatPlatform, token } from '../../service/test/support/chat-platform.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { fanOutToQueue } from '../../service/test/support/queue-steps.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { openPortal, portalUrl, signUp, visit } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const platform = noBrowser ? null! : await startChatPlatform();
const portal = noBrowser
  ? null!
  : await openPortal({}, { chatOrigins: { discord: [platform.origin] } });
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

const button = (within: Page | Locator, name: string) =>
  within.getByRole('button', { name, exact: true });
const assertFocused = (locator: Locator) => locator.and(locator.page().locator(':focus')).waitFor();

test(
  'headers are added, kept, replaced and removed, and their values are not shown again',
  options,
  async () => {
    const receiver = await startReceiver();
    const appId = (await create(ada, '/apps', { name: 'Behind a gateway' })).id;
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
      await create(ada, `/apps/${appId}/webhooks/${id}/test`);
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

test(
  'filters are written, previewed, refused beside the field, saved and removed',
  options,
  async () => {
    const bob = await signUp(portal.service, 'bob@example.org');
    const { id: appId } = await create(bob, '/apps', { name: 'Filtering' });
    const { id } = await create(bob, `/apps/${appId}/webhooks`, { url: 'https://example.org/' });
    await put(
      portal.service.database,
      'orgs',
      [
        { name: 'Recruits', recruiting: true },
        { name: 'Rests', recruiting: false },
        { name: 'Sleeps', recruiting: false },
      ],
      { emitEvents: true },
    );
    await fanOutToQueue(portal.service.database);
    const page = await portal.open({ as: bob, path: `/apps/${appId}/webhooks/${id}/settings` });
    const section = page.getByRole('region', { name: 'Settings', exact: true });
    await section.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByRole('textbox', { name: 'Filters' });
    const preview = page.getByRole('button', { name: 'Preview', exact: true });
    assert.ok(await preview.isDisabled());
    await field.fill('{ "org.created": ');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('This is not JSON').waitFor();

    await field.fill('{ "org.created": { "recruting": true } }');
    await preview.click();
    const problem = page.getByRole('alert').filter({ hasText: 'is no field of org.created' });
    await problem.getByText('The filters cannot be previewed', { exact: true }).waitFor();
    await field.fill('{ "org.created": { "recruting": true } } ');
    await problem.waitFor({ state: 'detached' });
    await preview.click();
    await problem.waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await problem.waitFor({ state: 'detached' });
    await page
      .getByText('org.created.recruting is no field of org.created; did you mean')
      .waitFor();
    await field.and(page.locator(':focus')).waitFor();

    await field.fill('{ "org.created": { "recruiting": true } }');
    await preview.click();
    await page.getByText('Would have sent 1 of the last 3 events.').waitFor();
    await assertAccessible(page, 'a previewed filter');
    // It was of all events.
    await page.getByLabel('Only selected events').check();
    await page.getByText('Would have sent').waitFor({ state: 'detached' });
    await page.getByLabel('All events this app can get').check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await section.getByText('"recruiting"').waitFor();

    await section.getByRole('button', { name: 'Edit' }).click();
    assert.deepEqual(JSON.parse(await field.inputValue()), { 'org.created': { recruiting: true } });
    await field.fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await section.getByRole('button', { name: 'Edit' }).waitFor();
    const { body } = await bob.call(`/apps/${appId}/webhooks/${id}`);
    assert.equal(body.data.filters, null);
  },
);

test(
  'a channel is added with a preview of its messages, tested, and never shows its URL again',
  options,
  async () => {
    const { id: appId } = await create(ada, '/apps', { name: 'Channel' });
    const page = await portal.open({ as: ada, path: `/apps/${appId}/webhooks/new` });
    // A header that was begun for a server is not asked for any more.
    await page.getByRole('button', { name: 'Add a header', exact: true }).click();
    await page.getByLabel('Messages to Discord').check();
    assert.equal(await page.getByRole('group', { name: 'Headers' }).count(), 0);
    await page.getByText('Whoever has the URL can post into the channel').waitFor();
    const preview = page.getByRole('figure', { name: 'Preview of the message' });
    await preview.getByText('Acme Corporation joined the directory').waitFor();
    await page
      .getByRole('combobox', { name: 'Example message' })
      .selectOption('system.maintenance.enabled');
    await preview.getByText('Maintenance has begun').waitFor();
    await assertAccessible(page, 'a new channel');
    const url = page.getByLabel('Webhook URL of the channel');
    await url.fill('https://example.org/hooks');
    await page.getByRole('button', { name: 'Create webhook', exact: true }).click();
    await page.getByText('must be the URL of an incoming webhook of Discord').waitFor();
    await url.fill(platform.origin + discordPath(1));
    await page.getByRole('button', { name: 'Create webhook', exact: true }).click();
    await page.locator('h1:focus', { hasText: 'Your new webhook' }).waitFor();
    await page.getByRole('button', { name: 'Send a test', exact: true }).click();

    await page
      .getByRole('region', { name: 'Send a test' })
      .getByLabel('Sample event')
      .selectOption('org.created');
    await page
      .getByRole('region', { name: 'Send a test' })
      .getByRole('button', { name: 'Send a test' })
      .click();
    await eventually(async () => platform.posted(discordPath(1)).length === 1);
    assert.equal(await page.getByText('Receive events on your machine').count(), 0);
    const tabs = page.getByRole('navigation', { name: 'Webhook sections' });
    assert.equal(await tabs.getByRole('link', { name: 'Signing' }).count(), 0);

    await page
      .getByRole('region', { name: 'Send a test' })
      .getByText('Request headers of attempt 1')
      .click();
    assert.equal(await page.getByText('webhook-signature').count(), 0);

    await tabs.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Messages to Discord').waitFor();
    await page.getByText(`${platform.origin}/…`).first().waitFor();
    assert.equal(await page.getByLabel('Self-healing').count(), 0);
    await page.getByRole('region', { name: 'Preview', exact: true }).getByRole('figure').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Description').fill('Our channel');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Settings saved.').waitFor();
    await assertAccessible(page, 'the settings of a channel');
    assert.ok(!(await page.content()).includes(token(1)));
  },
);

test('channels of one platform without descriptions are told apart', options, async () => {
  const cleo = await signUp(portal.service, 'cleo@example.org');
  const { id: appId } = await create(cleo, '/apps', { name: 'Two channels' });
  const names = [];
  for (const number of [2, 3]) {
    const url = platform.origin + discordPath(number);
    const { id } = await create(cleo, `/apps/${appId}/webhooks`, { url, format: 'discord' });
    names.push(`${new URL(url).host} (…${id.slice(-4)})`);
  }
  const page = await portal.open({ as: cleo, path: `/apps/${appId}/webhooks` });
  for (const name of names) await page.getByRole('link', { name }).waitFor();
  await visit(page, `${portalUrl}/apps/${appId}/deliveries`);
  const choice = page.getByRole('combobox', { name: 'Webhook' });
  for (const name of names)
    await choice.getByRole('option', { name }).waitFor({ state: 'attached' });

  platform.instead.set(discordPath(2), (response) => response.writeHead(401).end());
  await put(portal.service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await announce(portal.service.database);
  await eventually(async () => (await cleo.call('/overview')).body.data.webhooks.length === 1);
  await visit(page, portalUrl);
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await attention.getByRole('link', { name: names[0] ?? '' }).waitFor();
  await attention.getByText('The chat platform refused the message (401)').waitFor();
});
