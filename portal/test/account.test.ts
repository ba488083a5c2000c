import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { auditActions } from '../../service/src/access/audit-log.ts';
import { sql } from '../../service/src/database/database.ts';
import { createAccountLink } from '../../service/src/sign-in/accounts.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { put } from '../../service/test/support/directory.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { describeActivity } from '../src/account/describe-activity.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { pressOn, typeInto } from './support/keyboard.ts';
import {
  addressLinkOf,
  comeBack,
  openPortalWithProvider,
  password,
  portalUrl,
  postPortal,
  signUp,
  switchCookies,
  visit,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortalWithProvider('Example Login');

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function openAccount(as: Person): Promise<Page> {
  const page = await portal.open({ as, path: '/account' });
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor();
  return page;
}

/** Another session of the same account, in another browser. Returns the status. */
async function signInElsewhere(
  { email }: Person,
  userAgent: string,
  chosen = password,
): Promise<number> {
  const headers = { 'user-agent': userAgent };
  const credentials = { email, password: chosen };
  const { status } = await postPortal(portal.service, '/sign-in', credentials, { headers });
  return status;
}

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

test(
  'the account page shows who somebody is, changes their name and exports their data',
  options,
  async () => {
    const ada = await signUp(portal.service, 'ada@example.org');
    const page = await openAccount(ada);
    await section(page, 'Email address').getByText('ada@example.org').waitFor();
    await section(page, 'Sessions').getByText('Current session').waitFor();
    await section(page, 'Recent activity').getByText('Created the account').waitFor();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill(' ');
    await page.keyboard.press('Enter');
    await page.getByText('Enter a name').waitFor();
    await name.fill('Ada Lovelace');
    await page.keyboard.press('Enter');
    await page.getByText('Name changed.').waitFor();
    await section(page, 'Recent activity')
      .getByText('Changed the name to “Ada Lovelace”')
      .waitFor();
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByRole('menu').getByText('Ada Lovelace').waitFor();
    assert.equal((await ada.call('/session')).body.data.user.name, 'Ada Lovelace');

    const download = page.waitForEvent('download');
    await section(page, 'Your data').getByRole('link', { name: 'Export your data' }).click();
    const file = await download;
    assert.equal(file.suggestedFilename(), 'account.json');
    const exported = JSON.parse(await readFile(await file.path(), 'utf8')) as {
      account: { email: string };
    };
    assert.equal(exported.account.email, 'ada@example.org');
  },
);

test('the address changes with a link, which works only for its account', options, async () => {
  const { service } = portal;
  const ada = await signUp(service, 'ida@example.org');
  const mallory = await signUp(service, 'mallory@example.org');
  await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme', managers: [ada.email] }]);
  const app = await create(ada, '/apps', { name: 'Herald' });
  const json = { kind: 'organization', slug: 'acme' };
  const bound = await ada.call(`/apps/${app.id}/binding`, { method: 'PUT', json });
  assert.equal(bound.status, 200, bound.text);

  const page = await openAccount(ada);
  const address = section(page, 'Email address');
  const field = address.getByLabel('New email address');
  await field.fill(ada.email);
  await page.keyboard.press('Enter');
  await address.getByText('The email is already the address of your account.').waitFor();
  await field.and(page.locator(':focus')).waitFor();
  await field.fill('ida@example.com');
  await page.keyboard.press('Enter');
  await address.getByText('the link for ida@example.com is printed on the terminal').waitFor();
  await section(page, 'Recent activity')
    .getByText('Asked to change the address to ida@example.com')
    .waitFor();
  await assertAccessible(page, 'a requested change of address');

  const link = addressLinkOf(portal);
  const elsewhere = await portal.open({ path: link });
  await elsewhere.getByText('Sign in to the account whose address you want to change.').waitFor();
  const lured = await portal.open({ as: mallory, path: link });
  await lured.getByText('it is not for the account mallory@example.org').waitFor();
  await assertAccessible(lured, 'a change of address of another account');

  await page.goto(`${portalUrl}${link}`);
  await page.getByText('from ida@example.org to ida@example.com').waitFor();
  await page.getByRole('listitem').getByText('Herald to Acme').waitFor();
  await assertAccessible(page, 'a change of address to confirm');
  await page.getByRole('button', { name: 'Change address' }).click();
  await page.getByText('Your email address is now ida@example.com.').waitFor();
  await section(page, 'Email address').getByText('ida@example.com', { exact: true }).waitFor();
  await section(page, 'Recent activity')
    .getByText('Changed the address to ida@example.com')
    .waitFor();
  assert.equal((await ada.call(`/apps/${app.id}`)).body.data.binding, null);
  await page.goto(`${portalUrl}${link}`);
  await page.getByText("This link can't be used").waitFor();
  assert.equal((await mallory.call('/session')).body.data.user.email, mallory.email);
});

test(
  'an account is deleted by keyboard, once its owner agrees to what goes with it',
  options,
  async () => {
    const { database } = portal.service;
    const kim = await signUp(portal.service, 'kim@example.org');
    await put(database, 'orgs', [{ slug: 'globex', name: 'Globex', managers: [kim.email] }]);
    const herald = await create(kim, '/apps', { name: 'Herald' });
    await create(kim, `/apps/${herald.id}/keys`, { name: 'Bot', scopes: ['read:directory'] });
    const json = { kind: 'organization', slug: 'globex' };
    await kim.call(`/apps/${herald.id}/binding`, { method: 'PUT', json });

    const page = await openAccount(kim);
    await pressOn(page, page.getByRole('link', { name: 'Delete account' }));
    const losses = section(page, 'What goes with it');
    const names = losses.getByRole('listitem');
    await names.first().waitFor();
    assert.deepEqual(await names.allInnerTexts(), [
      'Herald, with 1 valid key',
      'Herald to Globex',
      'Globex',
    ]);
    await assertAccessible(page, 'what goes with an account');
    const button = page.getByRole('button', { name: 'Delete account' });
    await typeInto(page, page.getByLabel('Type “kim@example.org” to confirm'), kim.email);
    assert.ok(await button.isDisabled(), 'without agreeing to delete the app');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Space');

    // Another app is created in another window.
    await create(kim, '/apps', { name: 'Second' });
    await pressOn(page, button);
    await losses.getByText('Second', { exact: true }).waitFor();
    assert.ok(await button.isDisabled(), 'nobody has agreed to this one');
    await page.getByRole('alert').filter({ hasText: 'apps' }).waitFor();
    await pressOn(page, page.getByRole('checkbox', { name: 'Delete the 2 apps' }), 'Space');
    await typeInto(page, page.getByLabel('Type “kim@example.org” to confirm'), kim.email);
    await page.keyboard.press('Enter');
    await page.getByText('Account deleted.').waitFor();
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
    assert.equal((await kim.call('/session')).status, 401);
  },
);

test(
  'sessions are listed and ended: one, all others, or all others by a new password',
  options,
  async () => {
    const cleo = await signUp(portal.service, 'cleo@example.org');
    await signInElsewhere(cleo, firefox);
    await signInElsewhere(cleo, safari);
    await sql`
    update sessions set created_at = created_at - interval '1 hour' where user_agent = ${safari}
  `.execute(portal.service.database);
    await signInElsewhere(cleo, safari);
    const page = await openAccount(cleo);
    const sessions = section(page, 'Sessions');
    await sessions.getByRole('listitem').nth(3).waitFor();
    const names = await sessions
      .getByRole('button', { name: 'End session: Safari on iOS' })
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label')));
    assert.equal(new Set(names).size, 2, names.join());
    await sessions.getByRole('button', { name: 'End session: Firefox on Linux' }).click();
    const dialog = page.getByRole('dialog', { name: 'End this session?' });
    await dialog.getByText(/Firefox on Linux, from 127\.0\.0\.1, signed in \S/).waitFor();
    await assertAccessible(page, 'a session that is to end');
    await dialog.getByRole('button', { name: 'End session', exact: true }).click();
    await page.getByText('Session ended.').waitFor();
    const heading = page.getByRole('heading', { name: 'Sessions' });
    await heading.and(page.locator(':focus')).waitFor();
    assert.equal(await sessions.getByRole('listitem').count(), 3);
    assert.equal(await sessions.getByText('Firefox on Linux').count(), 0);
    await sessions.getByRole('button', { name: 'End all other sessions' }).click();
    await page.getByRole('button', { name: 'End sessions', exact: true }).click();
    await sessions.getByText('You have no other sessions.').waitFor();
    assert.equal((await cleo.call('/session')).status, 200, 'this one goes on');

    assert.equal(await signInElsewhere(cleo, firefox), 200);
    await page.reload();
    await sessions.getByText('Firefox on Linux').waitFor();
    const current = page.getByLabel('Current password', { exact: true });
    await current.fill('not this one');
    await page.getByLabel('New password', { exact: true }).fill('another horse entirely');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The current password is wrong.').waitFor();
    await current.and(page.locator(':focus')).waitFor();
    await current.fill(password);
    await page.keyboard.press('Enter');
    await page.getByText('Password changed.').waitFor();
    await sessions.getByText('You have no other sessions.').waitFor();
    assert.equal((await cleo.call('/session')).status, 200, 'this session goes on');
  },
);

test(
  'a provider is added, signs in, and is removed, but the last way never is',
  options,
  async () => {
    const { provider } = portal;
    const dora = await signUp(portal.service, 'dora@example.org');
    provider.person = { sub: 'd1', email: 'dora@elsewhere.example', email_verified: true };
    const page = await openAccount(dora);
    const methods = section(page, 'Ways to sign in');
    await methods.getByText('Your only way to sign in').waitFor();
    await methods.getByRole('button', { name: 'Add Example Login' }).click();
    await methods.getByText('Example Login added').waitFor();
    assert.equal(page.url(), `${portalUrl}/account`);

    const other = await portal.open({ path: '/sign-in?next=%2Faccount' });
    await other.getByRole('button', { name: 'Continue with Example Login' }).click();
    await section(other, 'Email address').getByText('dora@example.org').waitFor();

    await methods.getByRole('button', { name: 'Remove Example Login' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove Example Login?' });
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Example Login removed.').waitFor();
    await page
      .getByRole('heading', { name: 'Ways to sign in' })
      .and(page.locator(':focus'))
      .waitFor();
    await methods.getByText('Your only way to sign in').waitFor();
    assert.equal(await methods.getByRole('button', { name: /^Remove/ }).count(), 0);
    const activity = section(page, 'Recent activity');
    const added = activity.getByRole('listitem').filter({ hasText: 'Added Example Login' });
    await added.getByText(/· Chrome on Linux · 127\.0\.0\.1$/).waitFor();
    await activity.getByText('Removed Example Login as a way to sign in').waitFor();

    const eve = await signUp(portal.service, 'eve@example.org');
    provider.person = { sub: 'e1' };
    const owner = await portal.open({ path: '/sign-in?next=%2Faccount' });
    await owner.getByRole('button', { name: 'Continue with Example Login' }).click();
    await section(owner, 'Your name at the provider').getByText('e1@oidc.invalid').waitFor();
    const late = await openAccount(eve);
    await late.getByRole('button', { name: 'Add Example Login' }).click();
    await late.getByText('Another account already uses it.').waitFor();
  },
);

test('half an hour after the last proof, a change asks for another one', options, async () => {
  const fay = await signUp(portal.service, 'fay@example.org');
  await sql`
    update sessions set proven_at = now() - interval '31 minutes'
    where user_id = (select id from users where email = ${fay.email})
  `.execute(portal.service.database);
  const page = await openAccount(fay);
  const add = section(page, 'Ways to sign in').getByRole('button', { name: 'Add Example Login' });
  await add.click();
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('you did not confirm that it is you').waitFor();
  await add.click();
  await dialog.waitFor();
  // Nobody is left to confirm it.
  await page.context().clearCookies();
  await comeBack(page);
  await page.getByText('Sign in again to continue.').waitFor();
  await dialog.waitFor({ state: 'detached' });
  await switchCookies(page, fay);
  await comeBack(page);
  await add.click();
  await dialog.getByLabel('Password', { exact: true }).fill('not this one');
  await page.keyboard.press('Enter');
  await dialog.getByText('The password is wrong.').waitFor();
  await assertAccessible(page, 'a wrong proof');
  portal.provider.person = { sub: 'f1' };
  await dialog.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  await page.getByText('You can now sign in with it.').waitFor();
});

test('recent activity says what happened, from where, page by page', options, async () => {
  const { database } = portal.service;
  const gil = await signUp(portal.service, 'gil@example.org');
  await database
    .transaction()
    .execute((tx) =>
      createAccountLink(tx, testActor, { email: gil.email, publicUrl: testPublicUrl }),
    );
  await signInElsewhere(gil, safari);
  const page = await openAccount(gil);
  const activity = section(page, 'Recent activity');
  const entries = activity.getByRole('listitem');
  await entries.first().waitFor();
  const texts = await entries.allInnerTexts();
  const lines = texts.map((text) =>
    text.replace(/\s*\n\s*/, ' · ').replace(/\d+ seconds? ago/, 'now'),
  );
  assert.equal(lines[0], 'Signed in with a password · now · Safari on iOS · 127.0.0.1');
  assert.equal(lines[1], 'The operator created a link that sets the password · now');
  assert.match(texts.at(-1) ?? '', /^Created the account with a password/);

  for (let name = 0; name < 8; name += 1)
    await gil.call('/account', { method: 'PATCH', json: { name: `Gil ${name}` } });
  await page.reload();
  await activity.getByRole('button', { name: 'Page 2' }).click();
  await activity.getByText('Created the account').waitFor();
  await page
    .getByRole('region', { name: 'Recent activity, page 2' })
    .and(page.locator(':focus'))
    .waitFor();
  assert.equal(page.url(), `${portalUrl}/account?page=2`);
  await assertAccessible(page, 'older activity');
  await visit(page, `${portalUrl}/account?page=9`);
  await activity.getByRole('button', { name: 'Go to the first page' }).click();
  await activity.getByText('Changed the name to “Gil 7”').waitFor();
});

test('every action of an account is described, whatever is known about it', () => {
  const describe = (action: string, details = {}) =>
    describeActivity({ action, details }, (provider) => `the provider ${provider}`);
  const actions = auditActions.filter((action) => action.startsWith('account.'));
  assert.deepEqual(Object.fromEntries(actions.map((action) => [action, describe(action)])), {
    'account.address_changed': 'Changed the address',
    'account.address_requested': 'Asked to change the address',
    'account.authenticator_added': 'Added an authenticator app',
    'account.authenticator_removed': 'Removed the authenticator app',
    'account.created': 'Created the account with a provider',
    'account.deleted': 'Deleted the account',
    'account.link_created': 'The operator created a link that sets the password',
    'account.method_added': 'Added a provider as a way to sign in',
    'account.method_removed': 'Removed a provider as a way to sign in',
    'account.name_changed': 'Changed the name',
    'account.passkey_added': 'Added a passkey',
    'account.passkey_removed': 'Removed a passkey',
    'account.passkey_renamed': 'Renamed a passkey',
    'account.password_changed': 'Changed the password',
    'account.recovery_codes_created': 'Created new recovery codes',
    'account.restored': 'The operator restored the account',
    'account.second_factor_asked':
      'Began to sign in with a provider; the second factor was asked for',
    'account.second_factor_removed': 'The operator removed the second factor',
    'account.sessions_ended': 'Ended another session',
    'account.sign_in_failed': 'Failed to sign in',
    'account.signed_in': 'Signed in with a provider',
    'account.signed_out': 'Signed out',
    'account.suspended': 'The operator suspended the account',
  });
  assert.deepEqual(
    [
      describe('account.signed_in', { method: 'github' }),
      describe('account.signed_in', { method: 'recovery_code' }),
      describe('account.passkey_renamed', { name: 'Work' }),
      describe('account.sign_in_failed', { count: 1_200 }),
      describe('account.password_changed', { byLink: true }),
      describe('account.sessions_ended', { count: 2 }),
      describe('account.photo_changed'),
    ],
    [
      'Signed in with the provider github',
      'Signed in with a recovery code',
      'Renamed a passkey to “Work”',
      'Failed to sign in 1,200 times',
      'Set a new password with a link',
      'Ended 2 other sessions',
      'Photo changed',
    ],
  );
});
