/** Tests how a chat channel is added, tested and changed in the portal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discordPath, startChatPlatform, token } from '../../service/test/support/chat-platform.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
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
  const { id: appId } = await create(ada, '/apps', { name: 'Two channels' });
  const names = [];
  for (const number of [2, 3]) {
    const url = platform.origin + discordPath(number);
    const { id } = await create(ada, `/apps/${appId}/webhooks`, { url, format: 'discord' });
    names.push(`${new URL(url).host} (…${id.slice(-4)})`);
  }
  const page = await portal.open({ as: ada, path: `/apps/${appId}/webhooks` });
  for (const name of names) await page.getByRole('link', { name }).waitFor();
  await visit(page, `${portalUrl}/apps/${appId}/deliveries`);
  const choice = page.getByRole('combobox', { name: 'Webhook' });
  for (const name of names)
    await choice.getByRole('option', { name }).waitFor({ state: 'attached' });

  platform.instead.set(discordPath(2), (response) => response.writeHead(401).end());
  await put(portal.service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await announce(portal.service.database);
  await eventually(async () => (await ada.call('/overview')).body.data.webhooks.length === 1);
  await visit(page, portalUrl);
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await attention.getByRole('link', { name: names[0] ?? '' }).waitFor();
  await attention.getByText('The chat platform refused the message (401)').waitFor();
});
