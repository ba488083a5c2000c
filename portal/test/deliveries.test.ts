import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { verifyWebhook } from '../../client/src/index.ts';
import { sql } from '../../service/src/database/database.ts';
import { replayLock } from '../../service/src/webhooks/replay/replay.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible, assertReadable } from './support/accessibility.ts';
import {
  arrival,
  comeBack,
  drawn,
  openPortal,
  portalUrl,
  signUp,
  visit,
} from './support/portal-browser.ts';
import { create } from './support/create.ts';
import { makeWebhook, type OwnWebhook } from './support/webhook.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
/** Nobody may have more than ten apps. */
const bob = noBrowser ? null! : await signUp(portal.service, 'bob@example.org');

const cleo = noBrowser ? null! : await signUp(portal.service, 'cleo@example.org');

/** Characters that a shell, a page or a parser could misread. */
const hostile = 'It\'s "quoted" \\ $HOME $(id) `id` !! \u2028 <b>🎉</b> %s \\n';
if (!noBrowser)
  await put(portal.service.database, 'orgs', [
    { slug: 'acme', name: 'Acme', description: hostile },
  ]);

// Otherwise the events of one test go to the webhooks of all tests before.
if (!noBrowser)
  afterEach(async () => {
    await sql`
      update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'owner' where active
    `.execute(portal.service.database);
  });

async function ended({ webhookId }: OwnWebhook, count: number): Promise<string> {
  return eventually(async () => {
    const { rows } = await sql<{ id: string }>`
      select id from deliveries where webhook_id = ${webhookId} order by id desc
    `.execute(portal.service.database);
    return rows.length >= count ? rows[0]?.id : null;
  });
}

/** One row of the list, without its heading. */
function rowsOf(page: Page) {
  return page
    .getByRole('table')
    .getByRole('row')
    .filter({ hasNot: page.getByRole('columnheader') });
}

function isListOf({ appId, webhookId }: OwnWebhook) {
  return (request: { url: () => string }) => {
    const { pathname, searchParams } = new URL(request.url());
    return (
      pathname === `/portal/api/apps/${appId}/deliveries` &&
      searchParams.get('webhookId') === webhookId
    );
  };
}

async function focused(page: Page, list: string): Promise<void> {
  await page.getByRole('region', { name: list }).and(page.locator(':focus')).waitFor();
}

/** For each time, true if its text is the exact time. */
function exactTimes(within: Locator): Promise<boolean[]> {
  return within
    .locator('time')
    .evaluateAll((times) => times.map((time) => time.textContent === time.getAttribute('title')));
}

function contentOf(page: Page, label: string): Promise<string | null> {
  return page.getByRole('region', { name: label, exact: true }).locator('pre').textContent();
}

test(
  'an empty list says how to get a first delivery, and shows it as it comes',
  options,
  async () => {
    const receiver = await startReceiver();
    const webhook = await makeWebhook(ada, receiver.url);
    const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries` });
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await rowsOf(page)
      .filter({ hasText: 'webhook.test' })
      .filter({ hasText: 'Succeeded' })
      .waitFor();
    // The rows would keep their place under the pointer.
    await page.mouse.move(0, 0);
    await announce(portal.service.database);
    await rowsOf(page)
      .filter({ hasText: 'org.created' })
      .filter({ hasText: 'Succeeded' })
      .waitFor();
    await page.getByText('2 deliveries', { exact: true }).waitFor();
    await focused(page, 'Deliveries, page 1');
    await page
      .getByRole('status')
      .filter({ hasText: '1 new delivery' })
      .waitFor({ state: 'attached' });
    await page.reload();
    await rowsOf(page).first().waitFor();
    await drawn(page);
    assert.equal(await page.getByText('new deliver').count(), 0, 'what a page opens with is new');
    await visit(page, `${portalUrl}${webhook.path}/deliveries?page=2`);
    await page.getByRole('button', { name: 'Go to the first page' }).click();
    await rowsOf(page).first().waitFor();
    await focused(page, 'Deliveries, page 1');
  },
);

test(
  'new deliveries wait while somebody is in the list or has paused it, whichever minute it is',
  options,
  async () => {
    const receiver = await startReceiver();
    const webhook = await makeWebhook(ada, receiver.url);
    await announce(portal.service.database);
    await ended(webhook, 1);
    const page = await portal.open({ as: ada, isNew: true, url: 'about:blank' });
    await page.clock.install();
    const first = page.waitForRequest(isListOf(webhook));
    await page.goto(`${portalUrl}${webhook.path}/deliveries?time=hour`);
    const link = rowsOf(page).getByRole('link').first();
    await link.focus();
    // They are above the list, and come when they are read.
    await page.getByRole('region', { name: 'Statistics' }).waitFor();
    const before = await link.boundingBox();
    await announce(portal.service.database);
    const show = page.getByRole('button', { name: 'Show 1 new' });
    await show.waitFor();
    const asked = (await first).url();
    const next = arrival(page, (request) => isListOf(webhook)(request) && request.url() !== asked);
    await page.clock.fastForward(60_000);
    await next;
    await drawn(page);
    assert.equal(await rowsOf(page).count(), 1);
    assert.deepEqual(await link.boundingBox(), before, 'nothing has moved');
    assert.ok(await link.evaluate((element) => element === element.ownerDocument.activeElement));
    await show.click();
    await rowsOf(page).nth(1).waitFor();
    await focused(page, 'Deliveries, page 1');

    await page.getByRole('button', { name: 'Pause updates' }).click();
    const paused: string[] = [];
    page.on('request', (request) => {
      if (isListOf(webhook)(request)) paused.push(request.url());
    });
    await announce(portal.service.database);
    await ended(webhook, 3);
    // The minute is over, and what is shown is old; everything else is asked for on the way back.
    await page.clock.fastForward(60_000);
    const others = ['/portal/api/session', `/portal/api/apps/${webhook.appId}`].map((path) =>
      arrival(page, (request) => new URL(request.url()).pathname === path),
    );
    await comeBack(page);
    await Promise.all(others);
    await drawn(page);
    assert.deepEqual(paused, []);
    assert.equal(await rowsOf(page).count(), 2);
    await page.getByRole('button', { name: 'Resume updates' }).click();
    await page.getByText('3 deliveries', { exact: true }).waitFor();
  },
);

test(
  'filters that the service refuses can be cleared, and say what is wrong',
  options,
  async () => {
    const { appId, path } = await makeWebhook(ada, 'https://example.org/');
    const page = await portal.open({ as: ada, path: `${path}/deliveries?event=org.cretaed` });
    const problem = page.getByRole('alert');
    await problem.getByText('event').waitFor();
    assert.equal(await problem.getByRole('button', { name: 'Try again' }).count(), 0);
    await assertAccessible(page, 'a refused filter');
    await problem.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    await visit(page, `${portalUrl}/apps/${appId}/events?before=gone`);
    await problem.getByRole('button', { name: 'Newest' }).click();
    await problem.waitFor({ state: 'detached' });
    assert.equal(new URL(page.url()).search, '');
    await visit(page, `${portalUrl}/audit?app=gone`);
    await problem.getByRole('button', { name: 'All your apps' }).click();
    await page.getByRole('list', { name: 'Audit log' }).waitFor();
  },
);

test(
  'a view is in its address: it can be shared, and the way back leads through it',
  options,
  async () => {
    const receiver = await startReceiver((response) => response.writeHead(500).end());
    const webhook = await makeWebhook(ada, receiver.url);
    await announce(portal.service.database);
    await ended(webhook, 1);
    const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries` });
    await rowsOf(page).first().waitFor();
    await page.getByLabel('Status', { exact: true }).selectOption('Succeeded');
    await page.getByRole('heading', { name: 'Nothing matches these filters' }).waitFor();
    await page.getByLabel('Event', { exact: true }).selectOption('org.created');
    await page.getByLabel('Time', { exact: true }).selectOption('Last hour');
    const shared = `${portalUrl}${webhook.path}/deliveries?status=succeeded&event=org.created&time=hour`;
    await page.waitForURL(shared);
    const other = await portal.open({ as: ada, path: shared.slice(portalUrl.length) });
    await other.getByRole('heading', { name: 'Nothing matches these filters' }).waitFor();
    assert.equal(await other.getByLabel('Time', { exact: true }).inputValue(), 'hour');
    await other.getByRole('button', { name: 'Clear filters' }).first().click();
    await rowsOf(other).filter({ hasText: 'Failed' }).waitFor();
    await focused(other, 'Deliveries, page 1');
    for (const _ of ['time', 'event', 'status']) await page.goBack();
    await rowsOf(page).filter({ hasText: 'Failed' }).waitFor();

    await page.getByLabel('Time', { exact: true }).selectOption('Custom range');
    await page.getByLabel('From', { exact: true }).fill('2020-01-01T00:00');
    await page.getByLabel('To', { exact: true }).fill('2020-01-02T00:00');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('heading', { name: 'Nothing matches these filters' }).waitFor();
    await focused(page, 'Deliveries, page 1');
    assert.match(page.url(), /since=2020-01-01T00%3A00%3A00\.000Z/);
    await page.getByRole('search').getByRole('button', { name: 'Clear filters' }).click();
    await rowsOf(page).first().waitFor();
    await focused(page, 'Deliveries, page 1');
  },
);

test('one finds what failed by its response, its subject and its body', options, async () => {
  const receiver = await startReceiver((response) => response.writeHead(503).end());
  const webhook = await makeWebhook(bob, receiver.url);
  await announce(portal.service.database);
  const id = await ended(webhook, 1);
  const page = await portal.open({ as: bob, path: `/apps/${webhook.appId}/deliveries` });
  const row = rowsOf(page).filter({ hasText: 'Failed' });
  await row.getByText('503', { exact: true }).waitFor();
  await row.getByText('Acme').waitFor();
  const nothing = page.getByRole('heading', { name: 'Nothing matches these filters' });
  await page.getByLabel('Response', { exact: true }).selectOption('500');
  await nothing.waitFor();
  await page.getByLabel('Response', { exact: true }).selectOption('Timeout');
  await page.waitForURL(/error=timeout$/);
  await nothing.waitFor();
  await page.getByLabel('Response', { exact: true }).selectOption('5xx: failed');
  await page.waitForURL(/response=5xx$/);
  await row.waitFor();
  await page.getByLabel('Organisation or alliance').fill('nobody');
  await page.keyboard.press('Enter');
  await nothing.waitFor();
  const subject = page.getByLabel('Slug of the organisation or alliance');
  await subject.and(page.locator(':focus')).waitFor();
  await subject.fill('Acme Corporation');
  await page.keyboard.press('Enter');
  await page.getByText('Enter a slug').waitFor();
  await subject.fill(' ACME ');
  await page.keyboard.press('Enter');
  await row.waitFor();
  await page.waitForURL(/subject=acme$/);
  await subject.and(page.locator(':focus')).waitFor();
  await page.getByLabel('Time', { exact: true }).selectOption('Yesterday');
  await nothing.waitFor();
  await page.getByRole('search').getByRole('button', { name: 'Clear filters' }).click();
  await row.waitFor();
  const search = page.getByRole('searchbox', { name: 'Search' });
  // Each result differs from the one before, so it is seen that the list has changed.
  for (const [text, found] of [
    ['BOBBY TABLES', nothing],
    [id, row],
    ['nowhere', nothing],
    ["IT'S", row],
  ] as const) {
    await search.fill(text);
    await search.press('Enter');
    await search.and(page.locator(':focus')).waitFor();
    await found.waitFor();
  }
  await row.getByRole('link', { name: 'org.created' }).click();
  await page.getByRole('link', { name: 'Delivery of org.created' }).click();
  await page.getByRole('heading', { name: 'Delivery of org.created', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
  await page.waitForURL(/search=IT/);

  await page.setViewportSize({ width: 360, height: 780 });
  await page.getByRole('button', { name: 'Filters', exact: true }).click();
  const sheet = page.getByRole('dialog', { name: 'Filters' });
  await sheet.getByLabel('Status').selectOption('Failed');
  await sheet.getByRole('button', { name: 'Show deliveries' }).click();
  await page.getByRole('button', { name: 'Filters (1)' }).click();
  await sheet.getByLabel('Time').selectOption('Custom range');
  await sheet.getByLabel('From').fill('2020-01-01T00:00');
  // The only button: another one would leave the times out.
  const buttons = sheet.getByRole('button').filter({ hasText: /./ });
  assert.deepEqual(await buttons.allInnerTexts(), ['Apply']);
  await buttons.click();
  await page.waitForURL(/since=/);
  await sheet.waitFor({ state: 'detached' });
  // The list of a webhook has no filter by webhook, whatever the address says.
  const path = `${webhook.path}/deliveries?status=failed&webhook=${crypto.randomUUID()}`;
  await page.goto(`${portalUrl}${path}`);
  await page.getByRole('button', { name: 'Filters (1)' }).waitFor();
});

test('times name their zone: local, or UTC for as long as somebody wants', options, async () => {
  const receiver = await startReceiver();
  const webhook = await makeWebhook(bob, receiver.url);
  await announce(portal.service.database);
  await ended(webhook, 1);
  const path = `${webhook.path}/deliveries`;
  const page = await portal.open({ as: bob, path, timezoneId: 'Asia/Tokyo' });
  await page.getByText('Details', { exact: true }).click();
  const chart = page.getByRole('figure', { name: 'Deliveries' }).last();
  const since = async (): Promise<string> => {
    await page.getByLabel('Time', { exact: true }).selectOption('Custom range');
    await page.getByLabel('From', { exact: true }).fill('2020-01-01T00:00');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/since=/);
    const { searchParams } = new URL(page.url());
    const clear = page.getByRole('search').getByRole('button', { name: 'Clear filters' });
    await clear.click();
    await clear.waitFor({ state: 'detached' });
    return `${searchParams.get('since')}`;
  };
  const choose = async (choice: string): Promise<void> => {
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByRole('menuitem', { name: choice }).click();
  };
  await rowsOf(page)
    .getByText(/:\d\d [AP]M GMT\+9$/)
    .waitFor();
  await chart.getByText('times in GMT+9').waitFor();
  assert.equal(await since(), '2019-12-31T15:00:00.000Z');

  const from = page.getByLabel('From', { exact: true });
  await page.getByLabel('Time', { exact: true }).selectOption('Custom range');
  await from.fill('2020-01-01T09:30');
  await choose('Show times in UTC');
  await page.getByText('In UTC.').first().waitFor();
  assert.equal(await from.inputValue(), '2020-01-01T00:30', 'the same time as before');
  await rowsOf(page)
    .getByText(/:\d\d [AP]M UTC$/)
    .waitFor();
  await chart.getByText('times in UTC').waitFor();
  assert.equal(await since(), '2020-01-01T00:00:00.000Z');
  await page.reload();
  await rowsOf(page)
    .getByText(/:\d\d [AP]M UTC$/)
    .waitFor();

  await choose('Show times in local time');
  await rowsOf(page)
    .getByText(/:\d\d [AP]M GMT\+9$/)
    .waitFor();
});

test('yesterday is a whole day where summer begins at midnight', options, async () => {
  const { path } = await makeWebhook(cleo, (await startReceiver()).url);
  const page = await portal.open({ as: cleo, url: 'about:blank', timezoneId: 'Africa/Cairo' });
  await page.clock.setFixedTime('2026-04-24T10:00:00Z');
  const asked = page.waitForRequest(/\/deliveries\?.*since=/);
  await page.goto(`${portalUrl}${path}/deliveries?time=yesterday`);
  const { searchParams } = new URL((await asked).url());
  assert.equal(searchParams.get('since'), '2026-04-22T22:00:00.000Z');
  assert.equal(searchParams.get('until'), '2026-04-23T22:00:00.000Z');
});

test('charts tell apart the two hours of one name when summer ends', options, async () => {
  const { path, appId, webhookId } = await makeWebhook(cleo, (await startReceiver()).url);
  const page = await portal.open({ as: cleo, url: 'about:blank', timezoneId: 'Europe/Berlin' });
  const { body } = await cleo.call(`/apps/${appId}/delivery-stats?webhookId=${webhookId}`);
  for (const [index, period] of body.data.periods.entries())
    period.start = new Date(Date.UTC(2026, 9, 24, 22 + index)).toISOString();
  await page.route('**/delivery-stats?*', (route) => route.fulfill({ json: body }));
  await page.goto(`${portalUrl}${path}/deliveries`);
  await page.getByText('Details', { exact: true }).click();
  const chart = page.getByRole('figure', { name: 'Deliveries' }).last();
  await chart.getByText('times in GMT+2, then GMT+1').waitFor();
  for (const period of [
    '01:00 AM–02:00 AM GMT+2',
    '02:00 AM GMT+2–02:00 AM GMT+1',
    '02:00 AM–03:00 AM GMT+1',
  ])
    assert.equal(await chart.getByLabel(`${period}: `).count(), 1, period);
});

test('several are selected and redelivered, and what cannot be is said', options, async () => {
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  const webhook = await makeWebhook(bob, receiver.url);
  for (const count of [1, 2, 3, 4]) {
    await announce(portal.service.database);
    await ended(webhook, count);
  }
  await bob.call(`/apps/${webhook.appId}/webhooks/${webhook.webhookId}/test`, { method: 'POST' });
  const page = await portal.open({ as: bob, path: `${webhook.path}/deliveries` });
  await rowsOf(page).nth(4).waitFor();
  const boxes = rowsOf(page).getByRole('checkbox');
  assert.equal(await boxes.count(), 4, 'a test cannot be sent again');
  await page.getByLabel('Select all on this page').check();
  await page.getByText('4 selected').waitFor();
  await page.getByRole('button', { name: 'Clear selection' }).click();
  await focused(page, 'Deliveries, page 1');
  await boxes.nth(1).check();
  await boxes.nth(3).click({ modifiers: ['Shift'] });
  await page.getByText('3 selected').waitFor();
  await assertAccessible(page, 'a selection');
  receiver.respond = (response) => response.writeHead(204).end();
  const answered = Promise.withResolvers<void>();
  await page.route('**/redeliver', async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Redeliver 3' }).click();
  await boxes.first().check();
  answered.resolve();
  await page
    .getByRole('status')
    .filter({ hasText: '3 deliveries are being sent again.' })
    .waitFor();
  await page.getByText('1 selected').waitFor();
  await rowsOf(page).filter({ hasText: 'Succeeded' }).nth(2).waitFor();
  assert.equal(await rowsOf(page).filter({ hasText: 'Failed' }).count(), 2);

  await bob.call(webhook.path, { method: 'PATCH', json: { active: false } });
  await page.getByRole('button', { name: 'Redeliver 1' }).click();
  await page.getByRole('status').filter({ hasText: '1 not sent: The webhook is' }).waitFor();
});

test('every page of many deliveries can be reached', options, async () => {
  const webhook = await makeWebhook(ada, (await startReceiver()).url);
  await sql`
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
    select uuid_v7(at), uuid_v7(at), 'org.created', ${webhook.webhookId}, 'succeeded', n % 6 + 1, at, at
    from (select n, now() - n * interval '100 milliseconds' as at from generate_series(1, 2000) n) t
  `.execute(portal.service.database);
  const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries` });
  await page.getByText('1–50 of 2,000').waitFor();
  await page.getByRole('button', { name: 'Page 2', exact: true }).click();
  await page.getByText('51–100 of 2,000').waitFor();
  await page.getByText('Only the first page updates live').waitFor();
  await page.getByLabel('Page to go to').fill('20');
  await page.getByLabel('Page to go to').press('Enter');
  await page.getByText('951–1,000 of 2,000').waitFor();
  assert.equal(await rowsOf(page).count(), 50);
  const list = page.getByRole('region', { name: 'Deliveries, page 20' });
  assert.ok(await list.evaluate((element) => element === element.ownerDocument.activeElement));
  await page.goBack();
  await page.getByText('51–100 of 2,000').waitFor();
});

test('a failure is explained, sent again and followed until it has arrived', options, async () => {
  const receiver = await startReceiver((response) =>
    response.writeHead(500).end('<h1>Broken</h1>'),
  );
  const webhook = await makeWebhook(ada, receiver.url);
  await announce(portal.service.database);
  const id = await ended(webhook, 1);
  const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries` });
  await rowsOf(page).getByRole('link', { name: 'org.created' }).click();
  await page.getByRole('heading', { name: 'Delivery of org.created' }).waitFor();
  await page.getByText('All attempts failed: no 2xx response after 6 attempts').waitFor();
  await page.getByRole('radio', { name: '6: 500', checked: true }).waitFor({ state: 'attached' });
  assert.equal(await contentOf(page, 'Response body'), '<h1>Broken</h1>', 'as text');
  await page.getByText('Times and ids').click();
  assert.deepEqual(await exactTimes(page.locator('dl').last()), [true, true]);
  await assertAccessible(page, 'a delivery that failed');

  await page.getByText('Body, exactly as sent').first().click();
  assert.equal(
    await contentOf(page, 'Body, exactly as sent'),
    receiver.received[0]?.body.toString(),
  );
  const { headers } = receiver.received[5]!;
  for (const name of ['X-Service-Delivery', 'webhook-timestamp', 'user-agent', 'content-length']) {
    const value = page
      .locator('dt', { hasText: new RegExp(`^${name}$`) })
      .locator('xpath=following-sibling::dd[1]');
    assert.equal(await value.textContent(), headers[name.toLowerCase()], name);
  }

  // It counts as pending, also while it cannot be read.
  const json = {
    success: false,
    error: { code: 'rate_limited', message: 'Too many.', details: {} },
  };
  const reads = `**/deliveries/${id}`;
  await page.route(reads, (route) => route.fulfill({ status: 429, json }));
  receiver.respond = (response) => response.writeHead(204).end();
  const button = page.getByRole('button', { name: 'Send again' });
  await button.press('Enter');
  await page.getByRole('status').filter({ hasText: 'Sent again' }).waitFor();
  // The button is disabled but keeps the focus.
  await button.and(page.locator(':focus')).waitFor();
  assert.ok(await button.isDisabled());
  await page.unroute(reads);
  await page.getByRole('status').filter({ hasText: 'Delivered: Accepted with 204' }).waitFor();
  await page.getByRole('radio', { name: '7: 204', checked: true }).waitFor({ state: 'attached' });
  assert.equal(JSON.parse(receiver.received[6]!.body.toString()).id, id);
});

test(
  'the shown command repeats the request exactly, and a receiver that verifies accepts it',
  options,
  async () => {
    const receiver = await startReceiver();
    const webhook = await makeWebhook(ada, `${receiver.url}?a=[1]&b={x}'`);
    await announce(portal.service.database);
    const id = await ended(webhook, 1);
    const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries/${id}` });
    await page.getByText('Repeat with curl').first().click();
    const command = (await contentOf(page, 'Repeat with curl')) ?? '';

    assert.equal(await runInShell(command, webhook.secret), 0);
    const [sent, repeated] = receiver.received;
    assert.ok(sent && repeated && sent.body.toString().includes('\u2028'));
    assert.deepEqual(repeated.body, sent.body);
    assert.equal(repeated.path, sent.path);
    for (const scheme of ['standard', 'service'] as const) {
      const { body, headers } = repeated;
      const event = await verifyWebhook({ body, headers, secret: webhook.secret, scheme });
      assert.equal(event.id, id);
    }
    assert.deepEqual(namesOf(repeated.headers), namesOf(sent.headers));
    assert.notEqual(await runInShell(command, undefined), 0, 'without a secret nothing is sent');
    assert.equal(receiver.received.length, 2);
  },
);

test('failures while a receiver was down are recovered at once', options, async () => {
  const receiver = await startReceiver((response) => response.writeHead(503).end());
  const webhook = await makeWebhook(ada, receiver.url);
  for (const count of [1, 2, 3]) {
    await announce(portal.service.database);
    await ended(webhook, count);
  }
  receiver.respond = (response) => response.writeHead(200).end();
  await ada.call(webhook.path, { method: 'PATCH', json: { active: false } });
  const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries` });
  await page.getByRole('button', { name: 'Recover…' }).click();
  await page.getByRole('dialog').waitFor();
  await page.getByText('3 deliveries will be sent again.').waitFor();
  await assertAccessible(page, 'recovery');
  const answered = Promise.withResolvers<void>();
  await page.route('**/recover', async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Reactivate and resend 3' }).click();
  // Otherwise nobody learns the result.
  await page.keyboard.press('Escape');
  answered.resolve();
  const said = page.getByText('3 deliveries are being sent again.');
  await said.waitFor();
  assert.ok(await said.evaluate((element) => element === element.ownerDocument.activeElement));
  await page.getByRole('button', { name: 'Done' }).click();
  await rowsOf(page).filter({ hasText: 'Succeeded' }).nth(2).waitFor();
});

test('events from while a webhook was deactivated are replayed', options, async () => {
  const receiver = await startReceiver();
  const webhook = await makeWebhook(cleo, receiver.url);
  await cleo.call(webhook.path, { method: 'PATCH', json: { active: false } });
  const eventId = await announce(portal.service.database);
  await fannedOut(eventId);
  const page = await portal.open({ as: cleo, path: `${webhook.path}/deliveries` });
  await page.getByRole('button', { name: 'Recover…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Reactivate', exact: true }).click();
  await dialog.getByText('No deliveries had to be sent again.').waitFor();
  await dialog.getByRole('button', { name: 'Replay missed events…' }).click();
  await dialog.getByText('1 event will be sent: 1 missed.').waitFor();
  await assertAccessible(page, 'a replay');
  // Each count is one of the 60 redeliveries per minute.
  let counts = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/replay')) counts += 1;
  });
  await dialog.getByLabel('Time range').selectOption('A custom range');
  const since = dialog.getByLabel('Since');
  const before = await since.inputValue();
  await since.focus();
  // From the month to the minutes.
  for (let presses = 0; presses < 4; presses += 1) await page.keyboard.press('ArrowRight');
  for (let presses = 0; presses < 20; presses += 1) await page.keyboard.press('ArrowUp');
  assert.notEqual(await since.inputValue(), before);
  await dialog.getByText('1 event will be sent: 1 missed.').waitFor();
  assert.ok(counts < 10, `${counts} counts`);
  await dialog.getByRole('button', { name: 'Replay 1' }).click();
  await dialog.getByText('1 event will be sent, 20 per second.').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await rowsOf(page).filter({ hasText: 'Succeeded' }).waitFor();

  // Another count of the app is running: this one waits for its end.
  await portal.service.database.transaction().execute(async (tx) => {
    const lock = sql`pg_advisory_xact_lock(${replayLock}::int, hashtext(${webhook.appId}))`;
    await sql`select ${lock}`.execute(tx);
    const refused = page.waitForResponse((response) => response.status() === 409);
    await page.getByRole('button', { name: 'Replay missed events…' }).click();
    await refused;
  });
  await dialog.getByText('The webhook missed nothing in this time range.').waitFor();
  assert.equal(await dialog.getByRole('alert').count(), 0);
  assert.ok(await dialog.getByRole('button', { name: 'Replay', exact: true }).isDisabled());
  await dialog.getByLabel('Time range').selectOption('A custom range');
  await dialog.getByLabel('Until').fill('2020-01-01T00:00');
  await dialog.getByText('Choose a time before “Until”.').waitFor();
  await dialog.getByLabel('Until').fill('');
  await dialog.getByText('The webhook missed nothing in this time range.').waitFor();
  await dialog.getByLabel('Since').fill('2020-01-01T00:00');
  await dialog.getByText('must be at most 14 days ago').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await visit(page, `${portalUrl}${webhook.path}/explain?id=${eventId}`);
  const explanation = page.getByRole('region', { name: 'Delivery found' });
  await explanation.getByText('The receiver accepted the event with a 2xx status.').waitFor();
  await explanation.getByRole('link', { name: 'All attempts' }).click();
  await page.getByRole('heading', { name: 'Delivery of org.created' }).waitFor();
});

test('an event that a webhook did not get is explained', options, async () => {
  const { url } = await startReceiver();
  const webhook = await makeWebhook(cleo, url, { events: ['alliance.created'] });
  const eventId = await announce(portal.service.database);
  const minute = localMinute();
  await fannedOut(eventId);
  const page = await portal.open({ as: cleo, path: `${webhook.path}/deliveries` });
  await page.getByRole('link', { name: 'Find out why.' }).click();
  await page.getByRole('heading', { name: "Why wasn't this event delivered?" }).waitFor();
  await page.getByLabel('Event id').fill(eventId);
  // What is not processed yet is asked again until it is.
  await page.route(
    `**/explain/${eventId}`,
    async (route) => {
      const { body } = await cleo.call(`${webhook.path}/explain/${eventId}`);
      await route.fulfill({ json: { ...body, data: { ...body.data, result: 'waiting' } } });
    },
    { times: 1 },
  );
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('region', { name: 'Not processed yet' }).waitFor();
  const notSent = page.getByRole('region', { name: 'It was not sent to the webhook' });
  await notSent.getByText('The webhook was not subscribed to org.created.').waitFor();
  await notSent.getByRole('heading').and(page.locator(':focus')).waitFor();
  for (const [condition, met] of [
    ['The webhook was active', 'Yes'],
    ['The webhook was subscribed to the event', 'No'],
    ['The app was bound to the organisation or alliance', 'Does not apply'],
  ] as const)
    assert.equal(
      await notSent
        .getByText(condition, { exact: true })
        .locator('xpath=following-sibling::dd[1]')
        .textContent(),
      met,
    );
  await assertAccessible(page, 'an explanation');

  await page.getByLabel('Event name, subject and time').check();
  await page.getByLabel('Slug of the organisation or alliance').fill('Acme');
  await page.getByLabel('Time', { exact: true }).fill(minute);
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.waitForURL(/subject=acme&at=/);
  const names = [...new URL(page.url()).searchParams.keys()];
  assert.deepEqual(names, ['event', 'subject', 'at']);
  await page.getByText('Such events within a minute of that time').waitFor();
  await page.locator(`a[href$="id=${eventId}"]`).click();
  await page.waitForURL(/explain\?id=/);
  await notSent.getByText('The webhook was not subscribed to org.created.').waitFor();

  await page.getByLabel('Event id').fill(crypto.randomUUID());
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('heading', { name: 'Not available to this app' }).waitFor();
  await page.getByLabel('Event id').fill('it');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('Enter the id of an event').waitFor();
  await page.getByLabel('Event id').and(page.locator(':focus')).waitFor();
  await page.goto(page.url().replace(/\?.*/, '?event=org.created&subject=acme&at=noon'));
  await page.getByRole('alert').filter({ hasText: 'Something went wrong' }).waitFor();
  assert.equal(await page.getByLabel('Time', { exact: true }).inputValue(), '');
});

function fannedOut(eventId: string): Promise<unknown> {
  return eventually(async () => {
    const { rows } =
      await sql`select from events where id = ${eventId} and position is not null`.execute(
        portal.service.database,
      );
    return rows.length > 0;
  });
}

/** The current minute, as an input for times takes it. */
function localMinute(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

test(
  'the events of an app say which webhooks got each, which did not, and why',
  options,
  async () => {
    const receiver = await startReceiver();
    const broken = await startReceiver((response) => response.writeHead(500).end());
    const { appId } = await makeWebhook(cleo, receiver.url);
    const named = async (url: string, description: string, events: string[] | null) =>
      create(cleo, `/apps/${appId}/webhooks`, { url, description, events });
    await named(broken.url, 'Broken', null);
    await named(receiver.url, 'Only alliances', ['alliance.created']);
    const page = await portal.open({ as: cleo, path: `/apps/${appId}` });
    const sections = page.getByRole('navigation', { name: 'App sections' });
    await sections.getByRole('link', { name: 'Events' }).click();
    await page.getByRole('heading', { name: 'Events of Announcer' }).waitFor();
    const eventId = await announce(portal.service.database);
    await fannedOut(eventId);
    await eventually(async () => {
      const { rows } = await sql`
      select from deliveries where event_id = ${eventId} and webhook_id in (select id from webhooks where app_id = ${appId})
    `.execute(portal.service.database);
      return rows.length === 2 || null;
    });
    await page.reload();
    const newest = rowsOf(page).first();
    await newest.getByText('Acme', { exact: true }).waitFor();
    await newest.getByText('All attempts failed.').waitFor();
    await newest.getByRole('link', { name: 'Succeeded' }).waitFor();
    await newest.getByText('The webhook was not subscribed to org.created.').waitFor();
    await assertAccessible(page, 'the events of an app');
    await newest.getByRole('link', { name: 'Failed' }).click();
    await page.getByRole('heading', { name: 'Delivery of org.created' }).waitFor();
    await page.goBack();
    await newest.getByRole('link', { name: 'Not sent' }).click();
    await page.getByRole('link', { name: 'Change the events of the webhook' }).click();
    await page.getByRole('heading', { name: 'Only alliances' }).waitFor();

    const { body } = await cleo.call(`/apps/${appId}/past-events`);
    const before = encodeURIComponent(body.pagination.nextCursor);
    const first = await portal.open({ as: cleo, path: `/apps/${appId}/events?before=${before}` });
    await first.getByRole('button', { name: 'Newest' }).click();
    await first.locator('h1:focus').waitFor();
    await rowsOf(first).first().getByText('Acme', { exact: true }).waitFor();
  },
);

test(
  'a recovery goes by the clock of the service, and says why it is refused',
  options,
  async () => {
    const webhook = await makeWebhook(bob, (await startReceiver()).url);
    const page = await portal.open({ as: bob, isNew: true, url: 'about:blank' });
    await page.clock.setFixedTime(Date.now() - 5 * 60_000);
    await page.goto(`${portalUrl}${webhook.path}/deliveries`);
    await page.getByRole('button', { name: 'Recover…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No deliveries failed in this time range.').waitFor();
    await dialog
      .getByRole('option', { name: 'The last 14 days', selected: true })
      .waitFor({ state: 'attached' });
    // The clock is so slow that 14 days ago are more to the service.
    await page.clock.setFixedTime(Date.now() - 2 * 3_600_000);
    await dialog.getByLabel('Time range').selectOption('The last hour');
    await dialog.getByLabel('Time range').selectOption('The last 14 days');
    await dialog.getByRole('alert').filter({ hasText: 'Something went wrong' }).waitFor();
    // It is right again, and 14 days are counted from now.
    await page.clock.setFixedTime(Date.now());
    await dialog.getByLabel('Time range').selectOption('The last hour');
    await dialog.getByLabel('Time range').selectOption('The last 14 days');
    await dialog.getByText('No deliveries failed in this time range').waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Resend' }).isDisabled());
  },
);

test('a recovery that is refused after the reactivation says what is left', options, async () => {
  const webhook = await makeWebhook(bob, (await startReceiver()).url);
  await bob.call(webhook.path, { method: 'PATCH', json: { active: false } });
  const page = await portal.open({ as: bob, path: `${webhook.path}/deliveries` });
  await page.route('**/recover', (route) => route.abort());
  await page.getByRole('button', { name: 'Recover…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Reactivate' }).click();
  await dialog.getByRole('button', { name: 'Resend' }).waitFor();
  await dialog.getByText('This webhook is deactivated').waitFor({ state: 'detached' });
});

test('events that the app may no longer have are not shown, with the reason', options, async () => {
  const receiver = await startReceiver();
  const webhook = await makeWebhook(ada, receiver.url);
  await announce(portal.service.database);
  const id = await ended(webhook, 1);
  await sql`update orgs set listed = false where slug = 'acme'`.execute(portal.service.database);
  const page = await portal.open({ as: ada, path: `${webhook.path}/deliveries/${id}` });
  await page.getByText("The body can't be shown").waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send again' }).isDisabled());
  await page.getByText('The app can no longer get this event.').waitFor();
  await assertAccessible(page, 'a delivery without its body');
  await sql`update orgs set listed = true where slug = 'acme'`.execute(portal.service.database);
});

/** Runs asynchronously, because this process is also the receiver. */
async function runInShell(command: string, secret: string | undefined): Promise<number> {
  const env = {
    PATH: process.env['PATH'],
    ...(secret !== undefined && { WEBHOOK_SECRET: secret }),
  };
  const shell = spawn('sh', ['-c', command], { env, stdio: 'ignore' });
  const [status] = (await once(shell, 'exit')) as [number];
  return status;
}

function namesOf(headers: Record<string, string>): string[] {
  const byTheTransport = new Set(['host', 'connection', 'accept']);
  return Object.keys(headers)
    .filter((name) => !byTheTransport.has(name))
    .toSorted();
}

test(
  'on a phone no word of the list is broken, and webhooks of one host differ',
  options,
  async () => {
    const receiver = await startReceiver();
    const webhook = await makeWebhook(bob, `${receiver.url}/one`);
    await create(bob, `/apps/${webhook.appId}/webhooks`, { url: `${receiver.url}/two` });
    await announce(portal.service.database);
    await ended(webhook, 1);
    const page = await portal.open({
      as: bob,
      path: `${webhook.path}/deliveries`,
      viewport: { width: 390, height: 844 },
    });
    const count = await page.getByText('1 delivery', { exact: true }).boundingBox();
    assert.ok(count && count.height < 30, JSON.stringify(count));
    await visit(page, `${portalUrl}/apps/${webhook.appId}/deliveries`);
    for (const path of ['/one', '/two']) await page.getByText(path).first().waitFor();
    await page.setViewportSize({ width: 768, height: 1024 });
    await assertReadable(page, 'the list on a tablet');
  },
);
