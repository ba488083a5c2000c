import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page, Request } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import {
  arrival,
  drawn,
  comeBack,
  openPortal,
  password,
  portalUrl,
  signInAs,
  signUp,
  switchCookies,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();

test(
  'who has signed in in another window is who this one shows, with nothing of the one before',
  options,
  async () => {
    const ada = await signUp(portal.service, 'ada@example.org');
    const bob = await signUp(portal.service, 'bob@example.org');
    await create(ada, '/apps', { name: 'Of Ada alone' });
    const page = await portal.open({ as: ada, path: '/apps' });
    await page.getByRole('link', { name: 'Of Ada alone' }).waitFor();
    await switchCookies(page, bob);
    // The answer does not come: whatever is shown of apps is from before.
    await page.route('**/portal/api/apps', () => {});
    await comeBack(page);
    await page.locator('[aria-busy=true]').first().waitFor();
    assert.equal(await page.getByText('Of Ada alone').count(), 0);
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByText('bob', { exact: true }).waitFor();
  },
);

test('the page stays on the screen while the session cannot be read', options, async () => {
  const cleo = await signUp(portal.service, 'cleo@example.org');
  const { id } = await create(cleo, '/apps', { name: 'Announcer' });
  const page = await portal.open({ as: cleo, path: `/apps/${id}/keys` });
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('On the server');
  const json = {
    success: false,
    error: { code: 'rate_limited', message: 'Too many.', details: {} },
  };
  await page.route('**/portal/api/session', (route) => route.fulfill({ status: 429, json }));
  const refused = arrival(page, (request) => request.url().endsWith('/portal/api/session'));
  await comeBack(page, 'before');
  await refused;
  await drawn(page);
  assert.equal(await name.inputValue(), 'On the server');
});

test('a session that ends while it is being read has ended', options, async () => {
  const nia = await signUp(portal.service, 'nia@example.org');
  const page = await portal.open({ as: nia, path: '/apps' });
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor();
  const isSession = (request: Request) => request.url().endsWith('/portal/api/session');
  await page.route('**/portal/api/session', () => {}, { times: 1 });
  const begun = page.waitForRequest(isSession);
  await comeBack(page);
  await begun;
  await sql`delete from sessions where user_id = (select id from users where email = ${nia.email})`.execute(
    portal.service.database,
  );
  await comeBack(page);
  await page.getByText('Sign in again to continue.').waitFor();
});

const endedTitle = 'Your session has ended';
const nothingShown = async (page: Page) => {
  await page.getByRole('heading', { name: endedTitle, level: 1 }).waitFor();
  assert.equal(await page.getByRole('textbox').count(), 0);
  assert.equal(await page.getByText('Of Hal alone').filter({ visible: true }).count(), 0);
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.ok(!(await page.title()).includes('webhook'));
};

/** Types into the form of a new webhook, and ends the session. */
async function typeAndEnd(person: Person) {
  const { id } = await create(person, '/apps', { name: 'Of Hal alone' });
  const page = await portal.open({ as: person, path: `/apps/${id}/webhooks` });
  await page.getByRole('link', { name: 'New webhook' }).first().click();
  await page.getByRole('textbox', { name: 'Description' }).fill('Typed at length');
  await page.getByRole('button', { name: 'Add a header' }).click();
  await page.getByLabel('Name of header 1').fill('Authorization');
  await page.getByLabel('Value of header 1').fill('Bearer 7f3c9a');
  await page.getByRole('textbox', { name: 'URL' }).fill('https://example.org/hooks');
  await sql`delete from sessions where user_id = (select id from users where email = ${person.email})`.execute(
    portal.service.database,
  );
  return { page, id };
}

test(
  'what was typed is there again, and can be sent, once its user has signed in in another window',
  options,
  async () => {
    const hal = await signUp(portal.service, 'hal@example.org');
    const { page, id } = await typeAndEnd(hal);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await nothingShown(page);
    await assertAccessible(page, 'a session that has ended before the input was saved');
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Sign in in another window' }).click();
    const other = await opened;
    await other.getByLabel('Email address').fill(hal.email);
    await comeBack(page);
    await nothingShown(page);
    await other.getByLabel('Password', { exact: true }).fill(password);
    await other.getByRole('button', { name: 'Sign in', exact: true }).click();
    await other.getByRole('heading', { name: 'Overview' }).waitFor();
    await comeBack(page);
    const value = page.getByLabel('Value of header 1');
    await value.waitFor();
    assert.equal(await value.inputValue(), 'Bearer 7f3c9a');
    assert.equal(
      await page.getByRole('textbox', { name: 'Description' }).inputValue(),
      'Typed at length',
    );
    assert.match(await page.title(), /^New webhook/);
    await page
      .getByRole('button', { name: 'Create webhook' })
      .and(page.locator(':focus'))
      .waitFor();
    await page.getByText('Sign in first.').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your new webhook' }).waitFor();
    const { body } = await (await signInAs(portal.service, hal.email)).call(`/apps/${id}/webhooks`);
    assert.equal(body.data[0].description, 'Typed at length');
  },
);

test(
  'what was typed is gone in every window once its user has signed out in one',
  options,
  async () => {
    const lea = await signUp(portal.service, 'lea@example.org');
    const { page } = await typeAndEnd(lea);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await nothingShown(page);
    const other = await page.context().newPage();
    await switchCookies(other, await signInAs(portal.service, lea.email));
    await other.goto(portalUrl);
    await other.getByRole('button', { name: 'Your account' }).click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('Sign in again to continue.').waitFor();
    assert.equal(await page.getByText('Of Hal alone').count(), 0);
    assert.equal(await page.getByLabel('Value of header 1').count(), 0);
  },
);

test(
  'what was typed is gone when somebody else signs in, or its user discards it',
  options,
  async () => {
    const ivy = await signUp(portal.service, 'ivy@example.org');
    const jon = await signUp(portal.service, 'jon@example.org');
    const { page } = await typeAndEnd(ivy);
    // A dialog of the page is hidden with it.
    await page.getByRole('link', { name: 'Apps', exact: true }).first().click();
    await page.getByRole('dialog').waitFor();
    await comeBack(page);
    await nothingShown(page);
    await switchCookies(page, jon);
    await comeBack(page);
    await page.getByRole('alert').getByText('Not found').waitFor();
    assert.equal(await page.getByText('Of Hal alone').filter({ visible: true }).count(), 0);
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.getByRole('textbox').count(), 0);

    const kim = await signUp(portal.service, 'kim@example.org');
    const { page: theirs, id } = await typeAndEnd(kim);
    await comeBack(theirs);
    await nothingShown(theirs);
    const question = theirs.getByRole('dialog', { name: 'Leave without saving your changes?' });
    await theirs.goBack();
    await question.getByRole('button', { name: 'Stay' }).click();
    await nothingShown(theirs);
    await theirs.getByRole('button', { name: 'Discard what you typed' }).click();
    await theirs.getByText('Sign in again to continue.').waitFor();
    assert.ok(
      theirs.url().endsWith(`/sign-in?next=${encodeURIComponent(`/apps/${id}/webhooks/new`)}`),
    );
  },
);

test(
  'what was typed into a form that asks nothing before it is left is there again too',
  options,
  async () => {
    const mia = await signUp(portal.service, 'mia@example.org');
    const { id } = await create(mia, '/apps', { name: 'Announcer' });
    const { id: webhookId } = await create(mia, `/apps/${id}/webhooks`, {
      url: 'https://example.org/',
    });
    const page = await portal.open({ as: mia, path: `/apps/${id}/keys` });
    const ended = page.getByRole('heading', { name: endedTitle });
    const isThereAgain = async (field: Locator, text: string) => {
      await field.fill(text);
      await page.context().clearCookies();
      await comeBack(page);
      await nothingShown(page);
      // Keys reach no dialog that is hidden.
      await page.keyboard.press('Escape');
      await switchCookies(page, mia);
      await comeBack(page);
      await ended.waitFor({ state: 'detached' });
      assert.equal(await field.inputValue(), text);
    };
    await isThereAgain(page.getByRole('textbox', { name: 'Name' }), 'On the server');
    await page.getByRole('link', { name: 'Members' }).click();
    await isThereAgain(page.getByLabel('Email address'), 'colleague@example.org');
    // A way back that nothing asks about: then nothing is waited for.
    await page.getByLabel('Email address').fill('another@example.org');
    await page.context().clearCookies();
    await comeBack(page);
    await nothingShown(page);
    await page.goBack();
    await page.getByText('Sign in again to continue.').waitFor();
    await switchCookies(page, mia);
    await page.goto(`${portalUrl}/apps/${id}/webhooks/${webhookId}/explain`);
    await isThereAgain(page.getByLabel('Event id'), '0198f2a4');
    await page.goto(`${portalUrl}/apps/${id}`);
    await isThereAgain(page.getByLabel('Find an organisation or alliance'), 'acme');
    await page.goto(`${portalUrl}/apps/${id}/webhooks/${webhookId}/deliveries`);
    await isThereAgain(page.getByRole('searchbox', { name: 'Search', exact: true }), '0198f2a4');
    await page.reload();
    await page.getByRole('button', { name: 'Replay missed events…' }).click();
    const span = page.getByRole('dialog').getByLabel('Time range');
    await span.selectOption('A custom range');
    await page.context().clearCookies();
    await comeBack(page);
    await nothingShown(page);
    await switchCookies(page, mia);
    await comeBack(page);
    await ended.waitFor({ state: 'detached' });
    assert.equal(await span.inputValue(), 'own');
    // Of a deletion one types again.
    await page.goto(`${portalUrl}/apps/${id}`);
    await page.getByRole('button', { name: 'Delete app' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('Announcer');
    await page.context().clearCookies();
    await comeBack(page);
    await page.getByText('Sign in again to continue.').waitFor();
    await switchCookies(page, mia);
    await page.goto(`${portalUrl}/apps`);
    await page.getByRole('button', { name: 'New app' }).click();
    const name = page.getByRole('dialog').getByRole('textbox', { name: 'Name' });
    await isThereAgain(name, 'Of next week');
    // What is saved is not waited for.
    await page.goto(`${portalUrl}/account`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mia');
    await page.getByRole('button', { name: 'Change name' }).click();
    await page.getByText('Name changed.').waitFor();
    await page.context().clearCookies();
    await comeBack(page);
    await page.getByText('Sign in again to continue.').waitFor();
  },
);

test('a page that fails says so, and is not blank', options, async () => {
  const dan = await signUp(portal.service, 'dan@example.org');
  const known = await portal.open({ as: dan });
  // A window that may complain.
  const context = await known.context().browser()!.newContext();
  await context.addCookies(await known.context().cookies());
  const page = await context.newPage();
  const json = { success: true, data: null };
  await page.route('**/portal/api/apps', (route) => route.fulfill({ json }));
  await page.goto(`${portalUrl}/apps`);
  await page.getByRole('alert').getByText('This page failed').waitFor();
});

test('a time beyond all clocks in an address is as if it were not there', options, async () => {
  const eve = await signUp(portal.service, 'eve@example.org');
  const { id } = await create(eve, '/apps', { name: 'Announcer' });
  const { id: webhookId } = await create(eve, `/apps/${id}/webhooks`, {
    url: 'https://example.org/',
  });
  const page = await portal.open({
    as: eve,
    path: `/apps/${id}/webhooks/${webhookId}/deliveries?time=own&since=%2B275760-09-13T00:00:00.000Z`,
    timezoneId: 'Asia/Tokyo',
  });
  const from = page.getByLabel('From', { exact: true });
  await from.waitFor();
  assert.equal(await from.inputValue(), '');
});
