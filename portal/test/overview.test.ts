import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { sql } from '../../service/src/database/database.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { failed, recordNew } from '../../service/test/support/queue-steps.ts';
import { queueDrained } from '../../service/test/support/queue.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { comeBack, openPortal, portalUrl, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();

const built = fileURLToPath(new URL('../dist/', import.meta.url));
/** The promise of docs/decisions/0018-pages.md, as gzip. Browsers that know Brotli load less. */
const firstScriptBytesMax = 250_000;

type Loaded = { path: string; start: number; end: number; bytes: number };

test('the script of the first screen is small, even as gzip', async () => {
  const html = await readFile(`${built}index.html`, 'utf8');
  const scripts = html.match(/assets\/[^"]+\.js/g) ?? [];
  assert.equal(scripts.length, 1);
  const { size } = await stat(`${built}${scripts[0]}.gz`);
  assert.ok(size > 0 && size <= firstScriptBytesMax, `${size} bytes`);
});

test('the first screen needs two round trips, and comes compressed', options, async () => {
  const as = await signUp(portal.service, 'light@example.org');
  const page = await portal.open({ as, isNew: true });
  await page.getByText('Nothing. No webhook fails').waitFor();
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  // What is under way is in no list.
  await page.waitForLoadState('networkidle');
  const loaded = (await page.evaluate(`performance.getEntriesByType('resource')
    .filter(({ name }) => name.startsWith(${JSON.stringify(new URL(portalUrl).origin)}))
    .map(({ name, startTime, responseEnd, transferSize }) =>
      ({ path: new URL(name).pathname, start: startTime, end: responseEnd, bytes: transferSize }))`)) as Loaded[];
  const script = loaded.find(({ path }) => path.endsWith('.js'));
  assert.ok(script);
  assert.ok(script.bytes < firstScriptBytesMax, `${script.bytes} bytes`);
  for (const path of ['/portal/api/overview', '/portal/api/apps']) {
    const reads = loaded.filter((each) => each.path === path);
    assert.equal(reads.length, 1, 'requested once');
    assert.ok(
      (reads[0]?.start ?? Infinity) < script.end,
      'requested next to the script, not after it',
    );
  }
  // Later requests only add to a screen that is already usable.
  const later = loaded.filter(({ start }) => start >= script.end).map(({ path }) => path);
  assert.deepEqual(later.sort(), ['/api/v1/status', '/logo']);
  const scripts = loaded.filter(({ path }) => path.endsWith('.js'));
  assert.equal(scripts.length, 1, 'other pages load when they are opened');
});

test('somebody new is told what to do next', options, async () => {
  const person = await signUp(portal.service, 'new@example.org');
  const page = await portal.open({ as: person });
  await page.getByText('Nothing. No webhook fails').waitFor();
  await assertAccessible(page, 'an empty overview');
  await page.getByRole('button', { name: 'Hide' }).click();
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' });
});

test('the first steps lead in one dialog to a webhook that works', options, async () => {
  const person = await signUp(portal.service, 'first@example.org');
  const receiver = await startReceiver();
  const page = await portal.open({ as: person });
  await page.getByRole('button', { name: 'Create an app' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Announcer');
  await dialog.getByRole('button', { name: 'Create app' }).click();
  await dialog.getByLabel('URL').fill('ftp://example.org');
  await dialog.getByRole('button', { name: 'Create webhook' }).click();
  await dialog.locator('input[aria-invalid="true"]').waitFor();
  await dialog.getByLabel('URL').fill(receiver.url);
  await page.keyboard.press('Escape');
  await dialog.getByRole('button', { name: 'Create webhook' }).click();
  const saved = dialog.getByRole('button', { name: "Done, I've saved it" });
  await saved.waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await dialog.getByRole('button', { name: 'Close' }).count(), 0);
  await saved.click();
  await dialog.getByRole('button', { name: 'Send a test' }).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send a test' }).click();
  await dialog.getByRole('button', { name: 'Send a test' }).click();
  await dialog.getByText('Accepted with 200').first().waitFor();
  await dialog.getByRole('button', { name: 'Next: verify signatures' }).click();
  await dialog.getByText('Receivers that check signatures').waitFor();
  await page.reload();
  await dialog.getByRole('button', { name: 'My server verifies signatures' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Webhooks of Announcer' }).waitFor();
  assert.equal(receiver.received.length, 1);
});

test('what somebody else adds meanwhile takes no form and no secret away', options, async () => {
  const person = await signUp(portal.service, 'two@example.org');
  const app = await create(person, '/apps', { name: 'Announcer' });
  const page = await portal.open({ as: person, isNew: true, url: 'about:blank' });
  await page.clock.install();
  await page.goto(portalUrl);
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('URL').fill('https://example.org/mine');
  await create(person, `/apps/${app.id}/webhooks`, { url: 'https://example.org/theirs' });
  const read = page.waitForResponse(/\/webhooks(\?|$)/);
  await page.clock.fastForward(10_000);
  await comeBack(page, 'before');
  await read;
  await dialog.getByRole('button', { name: 'Create webhook' }).click();
  const saved = dialog.getByRole('button', { name: "Done, I've saved it" });
  await saved.waitFor();
  // The overview knows both.
  await page.getByText('example.org/mine', { exact: false }).first().waitFor({ state: 'attached' });
  assert.match(await dialog.getByTestId('secret').innerText(), /^whsec_/);
  await saved.click();
  await dialog.getByRole('button', { name: 'Send a test' }).waitFor();
  const { body } = await person.call(`/apps/${app.id}/webhooks`);
  const mine = body.data.find(({ url }: { url: string }) => url.endsWith('/mine'));
  const sent = page.waitForRequest(/\/test$/);
  await dialog.getByRole('button', { name: 'Send a test' }).click();
  assert.ok((await sent).url().includes(mine.id));
});

test('it shows what fails, what expires, and the deliveries of the day', options, async () => {
  const { service } = portal;
  const person = await signUp(service, 'busy@example.org');
  const app = await create(person, '/apps', { name: 'Announcer' });
  const expiresAt = new Date(Date.now() + 3 * 86_400_000).toISOString();
  await create(person, `/apps/${app.id}/keys`, {
    name: 'Server',
    scopes: ['read:events'],
    expiresAt,
  });
  const good = await startReceiver();
  const bad = await startReceiver((response) => response.writeHead(500).end());
  const hooks = [];
  for (const { url } of [good, bad])
    hooks.push(await create(person, `/apps/${app.id}/webhooks`, { url }));
  await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await announce(service.database);
  await queueDrained(service.database);

  const page = await portal.open({ as: person });
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await attention.getByText('failing, 1 delivery failed').waitFor();
  await attention.getByText('Last error: Your server failed (500)').waitFor();
  await attention.getByRole('link', { name: /^Server \(…/ }).waitFor();
  await page.getByRole('link', { name: 'Success rate: 50 %' }).waitFor();
  const chart = page.getByRole('figure', { name: 'Deliveries' });
  const now = chart.getByRole('link', { name: /: 1 succeeded, 1 failed$/ });
  await now.focus();
  await page.keyboard.press('ArrowLeft');
  await chart
    .getByRole('link', { name: /: no deliveries$/ })
    .and(page.locator(':focus'))
    .waitFor();
  await page.keyboard.press('End');
  // The hour may have turned since.
  await chart.getByRole('link').last().and(page.locator(':focus')).waitFor();
  await page.getByText('Show the values as a table').click();
  await page.getByRole('columnheader', { name: 'p95' }).waitFor();
  await assertAccessible(page, 'a busy overview');
  await page.getByText('Hour', { exact: true }).click();
  await page.getByRole('heading', { name: 'Last hour' }).waitFor();
  await eventually(async () => (await chart.getByRole('link').count()) === 60);
  await chart.getByRole('link', { name: /: 1 succeeded, 1 failed$/ }).waitFor();
  await page.getByText('7 days').click();
  await page.waitForURL(/\?range=week$/);
  await page.getByRole('heading', { name: 'Last 7 days' }).waitFor();
  await chart.getByRole('link', { name: /: 1 succeeded, 1 failed$/ }).click();
  await page.getByText('2 deliveries', { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Failed: 1' }).click();
  await page.waitForURL(
    `${portalUrl}/apps/${app.id}/deliveries?status=failed&time=week&range=week`,
  );
  await page.getByText('1 delivery', { exact: true }).waitFor();
  await page.getByRole('radio', { name: '7 days', checked: true }).waitFor({ state: 'attached' });
  await page.getByRole('table').getByRole('link', { name: '500' }).click();
  await page.waitForURL(/response=500&time=week&range=week$/);
  await page.goBack();
  await page.goBack();

  const viewer = await signUp(service, 'watching@example.org');
  await sql`
    insert into app_members (app_id, email, role) values (${app.id}, ${viewer.email}, 'viewer')
  `.execute(service.database);
  const watched = await portal.open({ as: viewer });
  await watched.getByRole('link', { name: '1 delivery failed or cancelled' }).waitFor();
  // A viewer sees no path.
  await watched
    .getByRole('region', { name: 'Needs attention' })
    .getByText(`(…${hooks[1].id.slice(-4)}) of Announcer: failing`)
    .waitFor();
  assert.equal(await watched.getByRole('link', { name: 'Recover…' }).count(), 0);
  await watched.context().close();

  // One button leads to the recovery.
  bad.respond = (response) => response.writeHead(204).end();
  await attention.getByRole('link', { name: 'Recover…' }).click();
  await page.getByRole('button', { name: 'Resend 1' }).click();
  await page.getByText('1 delivery is being sent again.').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Recover…' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0, 'a reload opens no dialog');
  assert.equal(new URL(page.url()).pathname.split('/').at(-2), hooks[1].id);
});

test(
  'a webhook that has never answered needs attention, and numbers lead to as many deliveries',
  options,
  async () => {
    const { service } = portal;
    const { database } = service;
    const person = await signUp(service, 'silent@example.org');
    const app = await create(person, '/apps', { name: 'Watchdog' });
    const add = (name: string) =>
      create(person, `/apps/${app.id}/webhooks`, {
        url: `https://example.org/${name}`,
      });
    const [idle, silent, dead] = [await add('idle'), await add('silent'), await add('dead')];
    const later = { kind: 'retry', waitMs: 3_600_000 } as const;
    const timeout = { statusCode: null, error: 'timeout' } as const;
    const ended = Array.from({ length: 5 }, () => ({ webhookId: dead.id, ...failed }));
    await recordNew(
      database,
      { webhookId: silent.id, verdict: later, ...timeout },
      ...ended.slice(2).map(({ webhookId }) => ({ webhookId, verdict: later })),
      ...ended,
    );
    const healthOf = async ({ id }: { id: string }) =>
      (await person.call(`/apps/${app.id}/webhooks/${id}`)).body.data.health;
    await eventually(async () => (await healthOf(dead)) === 'deactivated');
    assert.deepEqual([await healthOf(idle), await healthOf(silent)], ['new', 'retrying']);

    const page = await portal.open({ as: person });
    const attention = page.getByRole('region', { name: 'Needs attention' });
    const [worst, other] = [
      attention.getByRole('listitem').first(),
      attention.getByRole('listitem').last(),
    ];
    await worst
      .getByText('example.org/dead of Watchdog: deactivated, too many deliveries failed')
      .waitFor();
    await other
      .getByText('example.org/silent of Watchdog: retrying, the last attempt failed')
      .waitFor();
    await other.getByText('Last success: never.').waitFor();
    assert.equal(await attention.getByRole('listitem').count(), 2);
    const badges = page.getByRole('region', { name: 'Webhooks of Watchdog' }).getByRole('listitem');
    await badges.nth(0).getByText('Deactivated', { exact: true }).waitFor();
    await badges.nth(1).getByText('Retrying', { exact: true }).waitFor();
    await badges.nth(2).getByText('New', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Success rate: 0 %' }).waitFor();
    await page.getByText('The success rate is 0 of 8.').waitFor();
    await page.getByText('Cancelled: 3 because their webhook failed').waitFor();
    await page
      .getByRole('link', { name: /: 1 pending, 3 cancelled \(webhook failed\), 5 failed$/ })
      .waitFor();
    await assertAccessible(page, 'an overview with a silent webhook');
    await worst.getByRole('link', { name: '8 deliveries failed or cancelled' }).click();
    await page.getByText('8 deliveries', { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Cancelled: 3' }).click();
    await page.getByText('3 deliveries', { exact: true }).waitFor();
    await page.goBack();
    await other.getByRole('link', { name: 'See pending deliveries' }).click();
    await page.getByRole('button', { name: 'The last attempt failed' }).waitFor();
    await page.getByText('1 delivery', { exact: true }).waitFor();
  },
);
