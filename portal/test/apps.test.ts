import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { disableMaintenance, enableMaintenance } from '../../service/src/system/maintenance.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import {
  loseResponse,
  openPortal,
  portalUrl,
  signUp,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const bob = noBrowser ? null! : await signUp(portal.service, 'bob@example.org');

if (!noBrowser) {
  const { database } = portal.service;
  await put(database, 'alliances', [{ slug: 'north', name: 'Northern League' }]);
  await put(database, 'orgs', [
    { slug: 'acme-corporation', name: 'Acme Corporation', managers: [ada.email] },
    { slug: 'acme-daughter', name: 'Acme Daughter' },
    ...Array.from({ length: 12 }, (_, index) => ({ name: `Zenith ${index}` })),
  ]);
}

/** Waits until a heading has the focus, so that a screen reader reads it. */
function focusedHeading(page: Page, name: string): Promise<void> {
  return page.locator('h1:focus, h2:focus', { hasText: name }).waitFor();
}

async function openApp(person: Person, name: string): Promise<{ page: Page; id: string }> {
  const { id } = await create(person, '/apps', { name });
  const page = await portal.open({ as: person, path: `/apps/${id}` });
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  return { page, id };
}

test('a name from before names were plain is shown with escapes', options, async () => {
  const { id } = await create(bob, '/apps', { name: 'Old' });
  await sql`update apps set name = ${'Her\u202eald\u0007'} where id = ${id}`.execute(
    portal.service.database,
  );
  const page = await portal.open({ as: bob, path: `/apps/${id}` });
  const name = String.raw`Her\u202eald\u0007`;
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  const shown = await page.locator('body').innerText();
  assert.ok(!shown.includes('\u202e') && !shown.includes('\u0007'));
  await bob.call(`/apps/${id}`, { method: 'DELETE' });
});

test(
  'who has no app is led to the first one, and from it to what comes next',
  options,
  async () => {
    const person = await signUp(portal.service, 'none@example.org');
    const page = await portal.open({ as: person, path: '/apps' });
    await page.getByText('You have no apps yet').waitFor();
    await page.getByRole('button', { name: 'Create your first app' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New app' });
    await dialog.locator(':focus').waitFor();
    await page.keyboard.press('Enter');
    await dialog.getByText('Enter a name').waitFor();
    await assertAccessible(page, 'the dialog for a new app');
    await page.keyboard.type('Announcer');
    await page.keyboard.press('Enter');
    await focusedHeading(page, 'Announcer');
    assert.match(page.url(), /\/apps\/[0-9a-f-]{36}$/);
    await page.getByRole('region', { name: 'Keys' }).getByText('0 valid keys').waitFor();
    await page.getByRole('link', { name: 'Create a webhook' }).waitFor();
    await page.getByRole('link', { name: 'Create a key' }).click();
    await focusedHeading(page, 'Keys of Announcer');
  },
);

test('a list of apps says what each is bound to and how much it has', options, async () => {
  const app = await create(ada, '/apps', { name: 'Listed' });
  await create(ada, `/apps/${app.id}/keys`, { name: 'One', scopes: ['read:events'] });
  await create(ada, `/apps/${app.id}/webhooks`, { url: (await startReceiver()).url });
  const json = { kind: 'organization', slug: 'acme-corporation' };
  await ada.call(`/apps/${app.id}/binding`, { method: 'PUT', json });
  const page = await portal.open({ as: ada, path: '/apps' });
  const entry = page.getByRole('listitem').filter({ hasText: 'Listed' });
  await entry.getByText('Bound to Acme Corporation (organisation)').waitFor();
  await entry.getByText('1 key · 1 webhook').waitFor();
  await entry.getByText('Owner').waitFor();
  await assertAccessible(page, 'a list of apps');
});

test('an app is bound to what its owner manages, by keyboard, and unbound', options, async () => {
  const { page, id } = await openApp(ada, 'Bound');
  const binding = page.getByRole('region', { name: 'Binding' });
  await binding.getByText('You manage 1.').waitFor();
  const internal = 'For apps of an organisation: this app';
  await binding.getByText(`${internal} does not get them`).waitFor();
  await page.getByLabel('Find an organisation or alliance').focus();
  await page.keyboard.type('acme');
  await binding
    .getByRole('status')
    .filter({ hasText: '2 found; you can bind to 1 of those shown.' })
    .waitFor();
  const other = binding.getByRole('listitem').filter({ hasText: 'Acme Daughter' });
  await other.getByText('Not available. You are not a manager of it.').waitFor();
  assert.equal(await other.getByRole('button').count(), 0);
  await page.keyboard.press('Tab');
  await page
    .getByRole('button', { name: 'Bind to Acme Corporation' })
    .and(page.locator(':focus'))
    .waitFor();
  await page.keyboard.press('Enter');
  await focusedHeading(page, 'Binding');
  await binding.getByText('Bound to Acme Corporation, the organisation').waitFor();
  await binding.getByText('By ada@example.org').waitFor();
  await binding.getByText(`${internal} gets them`).waitFor();
  await assertAccessible(page, 'a bound app');

  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Unbind this app' });
  await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
  await dialog.getByText('pending deliveries of them are cancelled').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await focusedHeading(page, 'Binding');
  await page.getByLabel('Find an organisation or alliance').waitFor();
  assert.equal((await ada.call(`/apps/${id}`)).body.data.binding, null);
});

test('who manages nothing learns who could change that, and may look around', options, async () => {
  const { page } = await openApp(bob, 'Alone');
  await page.getByText("You don't manage any organisation or alliance.").waitFor();
  await page.getByText('bob@example.org', { exact: true }).waitFor();
  const search = page.getByLabel('Find an organisation or alliance');
  await search.fill('zenith');
  const status = page.getByRole('region', { name: 'Binding' }).getByRole('status');
  await status.filter({ hasText: '12 found; you can bind to none of those shown.' }).waitFor();
  await page.getByRole('button', { name: 'Page 2' }).click();
  await page.getByText('Zenith 9').waitFor();
  await search.fill('north');
  await status.filter({ hasText: '1 found' }).waitFor();
  await page.getByText('alliance north').waitFor();
  await search.fill('nowhere');
  await status.filter({ hasText: 'No results for “nowhere”.' }).waitFor();
});

test('a role that was lost meanwhile is said where one wants to bind', options, async () => {
  const { database } = portal.service;
  await put(database, 'orgs', [{ slug: 'fleeting', name: 'Fleeting', managers: [bob.email] }]);
  const { page } = await openApp(bob, 'Late');
  const button = page.getByRole('button', { name: 'Bind to Fleeting' });
  await button.waitFor();
  await put(database, 'orgs', [{ slug: 'fleeting', name: 'Fleeting', managers: [] }]);
  await button.click();
  await page
    .getByRole('alert')
    .getByText('Only owners of the app who manage the organisation can bind it.')
    .waitFor();
});

test('an app is renamed, and every screen has the new name', options, async () => {
  const { page } = await openApp(ada, 'Old name');
  await page.getByRole('textbox', { name: 'Name' }).fill('New name');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'New name', level: 1 }).waitFor();
  await page.getByText('App renamed to New name.').waitFor();
  await page.getByRole('link', { name: 'Apps', exact: true }).first().click();
  await page.getByRole('link', { name: 'New name' }).waitFor();
  assert.equal(await page.getByText('Old name').count(), 0);
});

test('deleting an app lists the losses and requires its name', options, async () => {
  const { page, id } = await openApp(ada, 'Doomed');
  await create(ada, `/apps/${id}/keys`, { name: 'One', scopes: ['read:events'] });
  await page.reload();
  const open = page.getByRole('button', { name: 'Delete app' });
  await open.click();
  const dialog = page.getByRole('dialog', { name: 'Delete Doomed' });
  const typed = dialog.getByRole('textbox');
  await typed.and(page.locator(':focus')).waitFor();
  await dialog.getByText('1 valid key: programs that use one are refused').waitFor();
  const confirm = dialog.getByRole('button', { name: 'Delete app' });
  assert.ok(await confirm.isDisabled());
  await assertAccessible(page, 'the question before deleting an app');
  await typed.fill('Doomed');
  await page.keyboard.press('Escape');
  await open.and(page.locator(':focus')).waitFor();
  await dialog.waitFor({ state: 'detached' });
  await open.press('Enter');
  await typed.and(page.locator(':focus')).waitFor();
  assert.ok(await confirm.isDisabled(), 'what was typed before confirms nothing');

  // A running request cannot be cancelled, so its result is shown.
  const answered = Promise.withResolvers<void>();
  const json = { error: { code: 'maintenance', message: 'A new disk.', details: {} } };
  const path = `**/portal/api/apps/${id}`;
  await page.route(path, async (route) => {
    await answered.promise;
    await route.fulfill({ status: 503, json });
  });
  await typed.fill('Doomed');
  const asked = page.waitForRequest((request) => request.method() === 'DELETE');
  // The second key comes as early as it can: once what the first one did is shown.
  await page.evaluate(`(async () => {
    const field = document.activeElement;
    field.form.requestSubmit();
    for (let turn = 0; turn < 20; turn += 1) await null;
    const escape = { key: 'Escape', code: 'Escape', bubbles: true };
    field.dispatchEvent(new KeyboardEvent('keydown', escape));
  })()`);
  await asked;
  await page.keyboard.press('Escape');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  answered.resolve();
  await dialog.getByRole('alert').getByText('A new disk.').waitFor();
  await page.unroute(path);
  await typed.press('Enter');
  await focusedHeading(page, 'Apps');
  await page.getByText('App Doomed deleted.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Doomed' }).count(), 0);
  assert.equal((await ada.call(`/apps/${id}`)).status, 404);
});

test('a double click creates one app, and the eleventh is refused in words', options, async () => {
  const many = await signUp(portal.service, 'many@example.org');
  for (let index = 1; index <= 9; index += 1) await create(many, '/apps', { name: `App ${index}` });
  const page = await portal.open({ as: many, path: '/apps' });
  await page.getByRole('button', { name: 'New app' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('App 10');
  await page.getByRole('button', { name: 'Create app' }).dblclick();
  await focusedHeading(page, 'App 10');
  assert.equal((await many.call('/apps')).body.data.length, 10);
  await page.getByRole('link', { name: 'Apps', exact: true }).first().click();
  await page.getByRole('button', { name: 'New app' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('One more');
  await page.getByRole('button', { name: 'Create app' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('A user can own at most 10 apps.').waitFor();
  await alert.getByText('Request').waitFor();
  assert.equal(page.url(), `${portalUrl}/apps`);
});

test(
  'an app whose creation got no answer is in the list, and another try makes it once',
  options,
  async () => {
    const dan = await signUp(portal.service, 'dan@example.org');
    const page = await portal.open({ as: dan, path: '/apps' });
    await page.getByRole('button', { name: 'Create your first app' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Once');
    await loseResponse(page, 'POST', '/apps');
    await page.getByRole('button', { name: 'Create app' }).click();
    await page.getByRole('alert').getByText('it is done only once').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Once' }).waitFor();

    await page.getByRole('button', { name: 'New app' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Twice');
    await loseResponse(page, 'POST', '/apps');
    await page.getByRole('button', { name: 'Create app' }).click();
    await page.getByRole('alert').getByText('it is done only once').waitFor();
    await page.getByRole('button', { name: 'Create app' }).click();
    await page.getByRole('heading', { name: 'Twice' }).waitFor();
    assert.equal((await dan.call('/apps')).body.data.length, 2);
  },
);

test('an app that is gone, or was never theirs, is not found', options, async () => {
  const { id } = await create(ada, '/apps', { name: 'Private' });
  const page = await portal.open({ as: bob, path: `/apps/${id}` });
  await page.getByRole('alert').getByText('Not found', { exact: true }).waitFor();
  assert.equal(await page.getByText('Private').count(), 0);
  await page.getByRole('heading', { name: 'No such app' }).waitFor();
  assert.equal(await page.getByRole('navigation', { name: 'App sections' }).count(), 0);
});

test(
  'a write that is refused says so, and what was typed stays: maintenance, a deleted app',
  options,
  async () => {
    const { database } = portal.service;
    const { page, id } = await openApp(bob, 'Steady');
    await enableMaintenance(database, testActor, { message: 'Moving.', expectedEnd: null });
    await eventually(async () => (await bob.call('/overview')).body.data.maintenance);
    await page.getByRole('textbox', { name: 'Name' }).fill('Changed');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByRole('alert').getByText('Maintenance: your apps cannot be changed').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Changed');
    await disableMaintenance(database, testActor);

    // Somebody deletes the app: the form says that it is gone, and the page too once it has looked again.
    await eventually(async () => !(await bob.call('/overview')).body.data.maintenance);
    assert.equal((await bob.call(`/apps/${id}`, { method: 'DELETE' })).status, 200);
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByRole('alert').getByText('Not found', { exact: true }).first().waitFor();
  },
);
