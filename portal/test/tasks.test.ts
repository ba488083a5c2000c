/** Common tasks, each in a few clicks from the overview, or in as many by keyboard alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { pressOn, tabTo } from './support/keyboard.ts';
import { openPortal, portalUrl, signUp, type Person } from './support/portal-browser.ts';
import { makeWebhook } from './support/webhook.ts';

const options = { skip: noBrowser };
const failures = 3;
const portal = noBrowser ? null! : await openPortal({ WEBHOOK_DEACTIVATE_AFTER: '1000' });
const person = (name: string) => signUp(portal.service, `${name}@example.org`);
const ada = noBrowser ? null! : await person('ada');
const receiver = noBrowser
  ? null!
  : await startReceiver((response) => response.writeHead(500).end('Broken'));
const webhook = noBrowser ? null! : await makeWebhook(ada, receiver.url);
/** Of another one, for whom nothing fails. */
const dora = noBrowser ? null! : await person('dora');
const doras = noBrowser ? null! : await startReceiver();
const quiet = noBrowser ? null! : await makeWebhook(dora, doras.url);
const unsubscribed = noBrowser
  ? null
  : await makeWebhook(dora, doras.url, { events: ['alliance.created'] });

if (!noBrowser) {
  const { database } = portal.service;
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  for (let count = 1; count <= failures; count += 1) await announce(database);
  await eventually(async () => {
    const { rows } = await sql`
      select from deliveries where completed_at is not null having count(*) = ${2 * failures}
    `.execute(database);
    return rows.length > 0;
  });
}

type Task = {
  page: Page;
  click: (target: Locator) => Promise<void>;
};

/** Opens the overview or `path`, runs the task without a mouse, and counts what would be clicks. */
async function inClicks(
  clicksMax: number,
  start: { as: Person; path?: string },
  run: (task: Task) => Promise<void>,
): Promise<void> {
  const page = await portal.open({ ...start, viewport });
  let clicks = 0;
  await run({
    page,
    async click(target) {
      clicks += 1;
      const isField = await target.evaluate((element) => element.tagName === 'INPUT');
      await (isField ? tabTo(page, target) : pressOn(page, target));
    },
  });
  assert.ok(clicks <= clicksMax, `${clicks} clicks`);
}

const viewport = { width: 1280, height: 800 };

const rowsOf = (page: Page) =>
  page
    .getByRole('table')
    .getByRole('row')
    .filter({ hasNot: page.getByRole('columnheader') });

async function isOnScreen(shown: Locator): Promise<void> {
  await eventually(async () => {
    const box = await shown.boundingBox();
    return box !== null && box.y >= 56 && box.y + box.height <= 800;
  });
}

test(
  'who is in trouble, why, and what was answered? Send it again by keyboard',
  options,
  async () => {
    const page = await portal.open({ as: ada, viewport });
    const attention = page.getByRole('region', { name: 'Needs attention' });
    for (const shown of [new URL(receiver.url).host, 'Last error: Your server failed (500)'])
      await isOnScreen(attention.getByText(shown).first());
    const failed = `${failures} deliveries failed or cancelled`;
    await pressOn(page, page.getByRole('link', { name: failed }));
    const panel = page.getByRole('region', { name: 'Delivery of org.created' });
    for (const shown of ['Your server failed (500)', 'Body', 'Broken'])
      await isOnScreen(panel.getByText(shown, { exact: true }).first());
    await panel.getByText('What to check').first().waitFor();
    await assertAccessible(page, 'a delivery beside the list');
    const rows = rowsOf(page).getByRole('link', { name: 'org.created' });
    const isOpen = (index: number) =>
      rows.nth(index).and(page.locator('[aria-current]')).and(page.locator(':focus')).waitFor();
    await rows.first().focus();
    await page.keyboard.press('j');
    await isOpen(1);
    await page.keyboard.press('ArrowDown');
    await isOpen(2);
    await page.keyboard.press('k');
    await isOpen(1);
    await panel.getByRole('button', { name: 'Send again' }).waitFor();
    receiver.respond = (response) => response.writeHead(204).end();
    await page.keyboard.press('r');
    await panel.getByRole('status').filter({ hasText: 'Delivered: Accepted with 204' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys in the list of deliveries' }).waitFor();
    await assertAccessible(page, 'the keys of the list');
    await page.keyboard.press('j');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await isOpen(1);
    await page.keyboard.press('/');
    const search = page.getByRole('searchbox', { name: 'Search' });
    await search.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('jkr?/');
    assert.equal(await search.inputValue(), 'jkr?/', 'a text field takes every key');
    await panel.waitFor();
    await rows.nth(1).focus();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await rows.nth(1).and(page.locator(':focus')).waitFor();

    const account = await portal.open({ as: ada, path: '/account' });
    await account.getByRole('switch', { name: 'Use keys of one character' }).uncheck();
    await account.goto(page.url());
    await rowsOf(account).getByRole('link', { name: 'org.created' }).first().focus();
    for (const key of ['j', '?', '/']) await account.keyboard.press(key);
    assert.equal(await account.getByRole('dialog').count(), 0);
    assert.equal(await account.locator('[aria-current=true]').count(), 0);
  },
);

test('the first delivery is in the upper half of the screen', options, async () => {
  for (const [as, path] of [
    [dora, `/apps/${quiet.appId}/deliveries`],
    [dora, `${quiet.path}/deliveries`],
    [ada, `${webhook.path}/deliveries`],
  ] as const) {
    const page = await portal.open({ as, path, viewport });
    const row = rowsOf(page).filter({ hasText: 'org.created' }).first();
    const box = await eventually(() => row.boundingBox());
    assert.ok(box.y < 400, `${path}: ${box.y} px`);
  }
});

test('a link to an open delivery works on a phone, which shows it alone', options, async () => {
  const page = await portal.open({
    as: ada,
    path: `/apps/${webhook.appId}/deliveries`,
    viewport: { width: 390, height: 844 },
  });
  const row = rowsOf(page).getByRole('link', { name: 'org.created' }).first();
  const path = (await row.getAttribute('href')) ?? '';
  assert.match(path, /\/deliveries\/[\w-]+$/, 'a page of its own');
  const [webhookId, , id] = path.split('/').slice(-3);
  await page.goto(`${portalUrl}${webhook.path}/deliveries?open=${webhookId}/${id}`);
  await page
    .getByRole('region', { name: 'Delivery of org.created' })
    .getByText('Response')
    .first()
    .waitFor();
  assert.equal(await row.isVisible(), false);
  await page.getByRole('button', { name: 'Close the delivery' }).click();
  await row.waitFor();
});

test('a deactivated webhook gets a test with the sample of the event', options, async () => {
  const page = await portal.open({ as: dora, path: `${quiet.path}/deliveries` });
  const link = rowsOf(page).getByRole('link', { name: 'org.created' }).first();
  await link.click();
  await sql`update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'owner' where id = ${quiet.webhookId}`.execute(
    portal.service.database,
  );
  await page.reload();
  const panel = page.getByRole('region', { name: 'Delivery of org.created' });
  await panel.getByText('The webhook is deactivated, so this sends a test').waitFor();
  const before = doras.received.length;
  await panel.getByRole('button', { name: 'Send a test' }).click();
  await panel.getByRole('status').filter({ hasText: 'Test: Accepted with 200' }).waitFor();
  const { headers, body } = doras.received[before]!;
  assert.equal(headers['x-service-event'], 'webhook.test');
  assert.match(body.toString(), /"sample":\{"event":"org\.created"|org\.created/);
});

test('what happened to the creation of an organisation?', options, () =>
  inClicks(4, { as: ada }, async ({ page, click }) => {
    await click(page.getByRole('link', { name: 'All deliveries' }));
    await click(page.getByLabel('Organisation or alliance'));
    await page.keyboard.type('acme');
    await page.keyboard.press('Enter');
    await page.waitForURL(/subject=acme/);
    await click(rowsOf(page).getByRole('link', { name: 'org.created' }).first());
    await page.getByText('All attempts failed').waitFor();
  }),
);

async function rotate({ page, click }: Task): Promise<void> {
  const own = page.getByRole('region', { name: 'Webhooks of Announcer' });
  await click(own.getByRole('link', { name: new URL(receiver.url).host }));
  await click(page.getByRole('link', { name: 'Signing' }));
  await click(page.getByRole('button', { name: 'Rotate the secret' }));
  const dialog = page.getByRole('dialog');
  assert.ok(await dialog.getByLabel('24 hours').isChecked(), 'both secrets sign for a day');
  await click(dialog.getByRole('button', { name: 'Rotate the secret' }));
  await page.getByRole('heading', { name: 'The new secret' }).waitFor();
}

test('rotate a secret without losing a delivery', options, () => inClicks(4, { as: ada }, rotate));

/** From the event to what keeps it from the webhook. */
async function whyNot({ page, click }: Task): Promise<void> {
  await page.getByText('The webhook was not subscribed to org.created').first().waitFor();
  await click(page.getByRole('link', { name: 'Not sent' }).first());
  await page.getByRole('heading', { name: 'It was not sent to the webhook' }).waitFor();
  await click(page.getByRole('link', { name: 'Change the events of the webhook' }));
  await page.getByRole('button', { name: 'Edit' }).waitFor();
}

const atEvents = { as: dora, path: `/apps/${unsubscribed?.appId}/events` };
test('why did a webhook not get an event?', options, () => inClicks(2, atEvents, whyNot));

test('invite a viewer', options, () =>
  inClicks(4, { as: ada }, async ({ page, click }) => {
    const email = 'one@example.org';
    const own = page.getByRole('region', { name: 'Webhooks of Announcer' });
    await click(own.getByRole('link', { name: 'Announcer', exact: true }));
    await click(page.getByRole('link', { name: 'Members', exact: true }));
    await click(page.getByLabel('Email address'));
    await page.keyboard.insertText(email);
    await click(page.getByRole('button', { name: 'Send invitation' }));
    const pending = page.getByRole('list', { name: 'Pending invitations' });
    await pending.getByRole('listitem').filter({ hasText: email }).getByText('Viewer').waitFor();
  }),
);
