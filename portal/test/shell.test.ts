import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { pressOn, tabTo } from './support/keyboard.ts';
import {
  comeBack,
  drawn,
  openPortal,
  password,
  portalUrl,
  signUp,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

test('without a connection a page says so, and with one again it goes on', options, async () => {
  const person = await signUp(portal.service, 'none@example.org');
  // A window that has loaded no other page.
  const page = await portal.open({ as: person, isNew: true });
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
  await page.getByText('This part could not be loaded').waitFor();
  await page.context().setOffline(false);
  await page.getByRole('heading', { name: 'You have no apps yet' }).waitFor();
  const heading = page.getByRole('heading', { name: 'Apps', level: 1 });
  assert.ok(await heading.evaluate((element) => element === element.ownerDocument.activeElement));
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('Not loaded').waitFor();
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Not loaded').waitFor({ state: 'detached' });
});

test('a page that gets no response says so, and goes on by itself', options, async () => {
  const dora = await signUp(portal.service, 'dora@example.org');
  const { id } = await create(dora, '/apps', { name: 'Before' });
  const page = await portal.open({ as: dora, isNew: true, url: 'about:blank' });
  await page.clock.install();
  await page.goto(`${portalUrl}/apps`);
  const link = page.getByRole('main').getByRole('link', { name: 'Before' });
  await link.waitFor();
  const banner = page.getByRole('status').filter({ hasText: 'The service does not respond' });
  await page.context().setOffline(true);
  await page.clock.fastForward(30_000);
  await comeBack(page);
  await banner.waitFor();
  await assertAccessible(page, 'a page without a response');
  await link.waitFor();
  assert.equal(await page.getByRole('alert').count(), 0, 'it is said once');
  await dora.call(`/apps/${id}`, { method: 'PATCH', json: { name: 'After' } });
  await page.context().setOffline(false);
  await page.clock.fastForward(5_000);
  await page.getByRole('main').getByRole('link', { name: 'After' }).waitFor();
  await banner.waitFor({ state: 'detached' });
});

test('without a connection a page that has read nothing says it once', options, async () => {
  const hugo = await signUp(portal.service, 'hugo@example.org');
  const app = await create(hugo, '/apps', { name: 'Herald' });
  const url = 'http://127.0.0.1:4567/';
  const hook = await create(hugo, `/apps/${app.id}/webhooks`, { url, events: ['org.created'] });
  const page = await portal.open({ as: hugo, url: 'about:blank' });
  for (const path of [/\/portal\/api\//, /\/portal\/api\/.*\/(stats|deliveries)\b/]) {
    await page.route(path, (route) => route.abort());
    await page.goto(`${portalUrl}/apps/${app.id}/webhooks/${hook.id}/deliveries`);
    await page.getByRole('status').filter({ hasText: 'The service does not respond' }).waitFor();
    await page.getByText('Not loaded').first().waitFor();
    await drawn(page);
    assert.equal(await page.getByRole('alert').count(), 0, String(path));
    await page.unroute(path);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Deliveries', level: 2 }).waitFor();
    await page.getByText('Not loaded').first().waitFor({ state: 'detached' });
  }
});

test('a session that ends elsewhere is told, and one goes on where one was', options, async () => {
  const grace = await signUp(portal.service, 'grace@example.org');
  const page = await portal.open({ as: grace, path: '/apps' });
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor();
  // A request that is still in flight would find the end of the session before the click.
  await page.waitForLoadState('networkidle');
  const { database } = portal.service;
  await sql`delete from sessions where user_id = (select id from users where email = ${grace.email})`.execute(
    database,
  );
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Email address').fill(grace.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Your account' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(`${portalUrl}/sign-in`);
  assert.equal(await page.getByText('Your session has ended').count(), 0);
});

test('on a narrow screen Tab passes by the menu until it is open', options, async () => {
  const page = await portal.open({ as: ada, viewport: { width: 320, height: 800 } });
  const burger = page.getByRole('button', { name: 'Open the menu' });
  await tabTo(page, burger);
  const link = page.locator('#navigation').getByRole('link', { name: 'Apps' });
  await burger.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.locator('#content :focus').waitFor();
  await burger.press('Enter');
  await pressOn(page, link);
  await page.getByRole('heading', { name: 'Apps', level: 1 }).and(page.locator(':focus')).waitFor();
  await link.waitFor({ state: 'hidden' });
});

test('forced colours show what is chosen', options, async () => {
  const { id } = await create(ada, '/apps', { name: 'Of few colours' });
  const page = await portal.open({
    as: ada,
    path: `/apps/${id}/webhooks/new`,
    forcedColors: 'active',
    colorScheme: 'light',
  });
  const styleOf = (target: Locator, property: string) =>
    target.evaluate(
      (element, name) =>
        element.ownerDocument.defaultView!.getComputedStyle(element).getPropertyValue(name),
      property,
    );
  const text = await styleOf(page.locator('body'), 'color');
  await page.getByRole('radio', { checked: true }).first().waitFor();
  const dot = page.locator('.mantine-Radio-radio:checked + .mantine-Radio-icon').first();
  assert.equal(await styleOf(dot, 'color'), text, 'which radio is chosen');
  await page.goto(`${portalUrl}/apps/${id}/deliveries`);
  const range = page.locator('.mantine-SegmentedControl-indicator');
  await range.waitFor();
  assert.equal(await styleOf(range, 'outline-style'), 'solid', 'the time range');
  const tabs = page.getByRole('navigation', { name: 'App sections' });
  const line = (tab: string) =>
    styleOf(tabs.getByRole('link', { name: tab }), 'border-bottom-color');
  assert.notEqual(await line('Deliveries'), await line('Keys'), 'which section it is');
  const { url } = await startReceiver();
  const webhook = await create(ada, `/apps/${id}/webhooks`, { url });
  await create(ada, `/apps/${id}/webhooks/${webhook.id}/test`);
  const open = page.getByRole('row', { name: 'webhook.test' });
  await open.getByRole('link', { name: 'webhook.test' }).click();
  await page
    .getByRole('link', { name: 'webhook.test' })
    .and(page.locator('[aria-current]'))
    .waitFor();
  assert.equal(await styleOf(open, 'outline-style'), 'solid', 'which delivery is open');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('textbox').fill('few');
  await page.getByRole('dialog').getByText('Of few colours').first().waitFor();
  const found = page.locator('.mantine-Spotlight-action[data-selected]');
  await page.keyboard.press('ArrowDown');
  await found.waitFor();
  assert.equal(await styleOf(found, 'outline-style'), 'solid', 'which one Enter opens');
});

test('a page that stays open goes on saying how long ago something was', options, async () => {
  const bob = await signUp(portal.service, 'bob@example.org');
  await create(bob, '/apps', { name: 'Announcer' });
  const page = await portal.open({ as: bob, isNew: true, url: 'about:blank' });
  await page.clock.install();
  await page.goto(`${portalUrl}/apps`);
  await page.getByText(/(now|\d+ seconds? ago)$/).waitFor();
  await page.clock.fastForward('20:00');
  await page.getByText('20 minutes ago').waitFor();
  await page.clock.fastForward('30:00:00');
  await page.getByText('1 day ago').waitFor();
});

test('Ctrl+K finds what somebody may see, and goes there', options, async () => {
  const ella = await signUp(portal.service, 'ella@example.org');
  const { id } = await create(ella, '/apps', { name: 'Announcer' });
  const url = 'https://hooks.example.org/a';
  const hook = await create(ella, `/apps/${id}/webhooks`, { url, description: 'Billing 請求' });
  const others = await signUp(portal.service, 'otto@example.org');
  await create(others, '/apps', { name: 'Secret plans' });
  const page = await portal.open({
    as: ella,
    path: `/apps/${id}/webhooks/${hook['id']}/deliveries`,
  });
  await page.getByRole('button', { name: 'Deactivate' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Control+k');
  assert.equal(await page.getByRole('dialog').count(), 1, 'not over another dialog');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  const field = page.getByRole('textbox', { name: 'Find' });
  await field.and(page.locator(':focus')).waitFor();
  await page.getByRole('button', { name: /^Billing/ }).waitFor();
  await assertAccessible(page, 'what can be found');
  const told = page.getByRole('dialog').getByRole('status');
  await field.fill('announcer');
  await told.filter({ hasText: 'Announcer' }).waitFor({ state: 'attached' });
  const first = await told.textContent();
  await page.keyboard.press('ArrowDown');
  await eventually(async () => (await told.textContent()) !== first);
  await field.fill('');
  await page.keyboard.type('secret plans');
  await page.getByText('Nothing found.').waitFor();
  for (const [typed, path] of [
    ['billing', `/apps/${id}/webhooks/${hook['id']}/deliveries`],
    ['members', `/apps/${id}/members`],
    ['org.created', '/events#org.created'],
    ['audit', '/audit'],
  ] as const) {
    await field.fill(typed);
    await page
      .getByRole('button', { name: new RegExp(typed, 'i') })
      .first()
      .waitFor();
    await told.filter({ hasText: new RegExp(typed, 'i') }).waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    await page.waitForURL(`${portalUrl}${path}`);
    await field.waitFor({ state: 'detached' });
    // A page takes the focus when it has been loaded.
    if (typed !== 'billing') await page.locator('h1:focus, summary:focus').waitFor();
    await page.getByRole('banner').getByRole('button', { name: 'Find' }).click();
    await field.waitFor();
  }
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
});

test('what comes late leaves the focus to whoever has moved it', options, async () => {
  const fay = await signUp(portal.service, 'fay@example.org');
  const { id } = await create(fay, '/apps', { name: 'Announcer' });
  const page = await portal.open({ as: fay, path: '/apps' });
  const hold = async (path: string) => {
    const held = Promise.withResolvers<void>();
    await page.route(`**/portal/api${path}`, async (route) => {
      await held.promise;
      await route.continue();
    });
    return held.resolve;
  };
  const find = page.getByRole('textbox', { name: 'Find' });
  const openFind = async () => {
    await page.keyboard.press('Control+k');
    await find.and(page.locator(':focus')).waitFor();
  };
  const closeFind = async () => {
    await find.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await find.waitFor({ state: 'detached' });
  };

  // A page.
  const releaseApp = await hold(`/apps/${id}`);
  await page.getByRole('link', { name: 'Announcer' }).first().click();
  await page.waitForURL(`${portalUrl}/apps/${id}`);
  await openFind();
  releaseApp();
  await page.getByRole('heading', { level: 1, name: 'Announcer', includeHidden: true }).waitFor();
  await drawn(page);
  await page.keyboard.type('org.created');
  assert.equal(await find.inputValue(), 'org.created');

  // An event in a list.
  const releaseEvents = await hold('/events');
  await page.goto(`${portalUrl}/events#org.created`);
  await tabTo(page, page.getByLabel('For the app'));
  releaseEvents();
  await page.locator('details[id="org.created"][open]').waitFor();
  await drawn(page);
  await page.getByLabel('For the app').and(page.locator(':focus')).waitFor({ timeout: 1_000 });

  // What was made.
  await page.goto(`${portalUrl}/apps/${id}/keys`);
  const releaseKey = await hold(`/apps/${id}/keys`);
  await page.getByRole('button', { name: 'Create key' }).click();
  await openFind();
  releaseKey();
  await page.getByRole('region', { name: /^Your new key/, includeHidden: true }).waitFor();
  await drawn(page);
  await closeFind();

  // A page that a write leads to.
  const gus = await signUp(portal.service, 'gus@example.org');
  const theirs = await create(gus, '/apps', { name: 'Herald' });
  const invited = { email: fay.email, role: 'viewer' };
  const invitation = await create(gus, `/apps/${theirs.id}/invitations`, invited);
  await page.goto(`${portalUrl}/apps`);
  const releaseJoin = await hold(`/invitations/${invitation.id}/accept`);
  await page.getByRole('button', { name: 'Accept' }).click();
  await openFind();
  releaseJoin();
  await page.getByRole('heading', { level: 1, name: 'Herald', includeHidden: true }).waitFor();
  await drawn(page);
  await closeFind();
  await page.locator('h1:focus').waitFor();
});
