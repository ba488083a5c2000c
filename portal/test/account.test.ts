import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { startOidcProvider } from '../../service/test/support/oidc-provider.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import {
  callAuth,
  openPortal,
  password,
  portalUrl,
  signUp,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const provider = noBrowser ? null! : await startOidcProvider();
const portal = noBrowser
  ? null!
  : await openPortal(
      {
        OIDC_ISSUER_URL: provider.issuer,
        OIDC_CLIENT_ID: provider.client.id,
        OIDC_CLIENT_SECRET: provider.client.secret,
        OIDC_NAME: 'Example Login',
      },
      { providers: [provider.issuer] },
    );

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function openAccount(as: Person): Promise<Page> {
  const page = await portal.open({ as, path: '/account' });
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor();
  return page;
}

/** A session of the same person's in another browser. */
async function signInElsewhere({ email }: Person, userAgent: string): Promise<void> {
  const headers = { 'user-agent': userAgent };
  const { status } = await callAuth(portal.service, '/sign-in/email', {
    json: { email, password },
    headers,
  });
  assert.equal(status, 200);
}

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

test('one sees who one is, and changes what one is called', options, async () => {
  const ada = await signUp(portal.service, 'ada@example.org');
  const page = await openAccount(ada);
  const address = section(page, 'Address');
  await address.getByText('ada@example.org').waitFor();
  await address.getByText('Confirmed', { exact: true }).waitFor();
  await section(page, 'Sessions').getByText('This one').waitFor();
  await assertAccessible(page, 'the account');
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill(' ');
  await page.keyboard.press('Enter');
  await page.getByText('Give a name').waitFor();
  await name.fill('Ada Lovelace');
  await page.keyboard.press('Enter');
  await page.getByText('Your name is changed.').waitFor();
  await page.getByRole('button', { name: 'Your account' }).click();
  await page.getByRole('menu').getByText('Ada Lovelace').waitFor();
  assert.equal((await ada.call('/session')).body.data.user.name, 'Ada Lovelace');
});

test('a new password needs the old one, and signs one out elsewhere', options, async () => {
  const bob = await signUp(portal.service, 'bob@example.org');
  await signInElsewhere(bob, firefox);
  const page = await openAccount(bob);
  await section(page, 'Sessions').getByText('Firefox on Linux').waitFor();
  const current = page.getByLabel('Current password', { exact: true });
  await current.fill('not this one');
  await page.getByLabel('New password', { exact: true }).fill('another horse entirely');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('The current password is wrong.').waitFor();
  assert.ok(await current.evaluate((element) => element === element.ownerDocument.activeElement));
  await assertAccessible(page, 'a current password that is wrong');
  await current.fill(password);
  await page.keyboard.press('Enter');
  await page.getByText('Your password is changed.').waitFor();
  await section(page, 'Sessions').getByText('You are signed in nowhere else.').waitFor();
  assert.equal((await bob.call('/session')).status, 401, 'the session before is over');
  await page.reload();
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor();
});

test('sessions are shown and ended, one or all but this', options, async () => {
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
    .getByRole('button', { name: 'Sign out Safari on iOS' })
    .evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label')));
  assert.equal(new Set(names).size, 2, names.join());
  await sessions.getByRole('button', { name: 'Sign out Firefox on Linux' }).click();
  const dialogue = page.getByRole('dialog', { name: 'Sign out there?' });
  await dialogue.getByText(/Firefox on Linux, from 127\.0\.0\.1, signed in \S/).waitFor();
  await assertAccessible(page, 'a session that is to end');
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByText('Signed out there.').waitFor();
  const heading = page.getByRole('heading', { name: 'Sessions' });
  await heading.and(page.locator(':focus')).waitFor();
  assert.equal(await sessions.getByRole('listitem').count(), 3);
  assert.equal(await sessions.getByText('Firefox on Linux').count(), 0);
  await sessions.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await sessions.getByText('You are signed in nowhere else.').waitFor();
  assert.equal((await cleo.call('/session')).status, 200, 'this one goes on');
});

test(
  'a provider is linked, opens the account, and is unlinked, but never the last way in',
  options,
  async () => {
    const dora = await signUp(portal.service, 'dora@example.org');
    provider.person = { sub: 'd1', email: 'dora@elsewhere.example', email_verified: true };
    const page = await openAccount(dora);
    const methods = section(page, 'Ways to sign in');
    await methods.getByText('It is your only way to sign in, so it stays.').waitFor();
    await methods.getByRole('button', { name: 'Link Example Login' }).click();
    await methods.getByText('Example Login is linked').waitFor();
    assert.equal(page.url(), `${portalUrl}/account`);
    await assertAccessible(page, 'a provider that is linked');

    const other = await portal.open({ path: '/sign-in?next=%2Faccount' });
    await other.getByRole('button', { name: 'Continue with Example Login' }).click();
    await section(other, 'Address').getByText('dora@example.org').waitFor();

    const unlink = methods.getByRole('button', { name: 'Unlink Example Login' });
    await unlink.click();
    await page.getByRole('dialog', { name: 'Unlink Example Login?' }).waitFor();
    await page.getByRole('button', { name: 'Unlink', exact: true }).click();
    await page.getByText('Example Login is unlinked.').waitFor();
    await page
      .getByRole('heading', { name: 'Ways to sign in' })
      .and(page.locator(':focus'))
      .waitFor();
    await methods.getByText('It is your only way to sign in, so it stays.').waitFor();
    assert.equal(await unlink.count(), 0);

    const eve = await signUp(portal.service, 'eve@example.org');
    provider.person = { sub: 'e1' };
    const owner = await portal.open({ path: '/sign-in?next=%2Faccount' });
    await owner.getByRole('button', { name: 'Continue with Example Login' }).click();
    await section(owner, 'Your name at the provider').getByText('e1@oidc.invalid').waitFor();
    const late = await openAccount(eve);
    await late.getByRole('button', { name: 'Link Example Login' }).click();
    await late.getByText('Another account here is linked to it.').waitFor();
  },
);

test(
  'whoever signed in long ago does so again before they see or end sessions',
  options,
  async () => {
    const fay = await signUp(portal.service, 'fay@example.org');
    await sql`
    update sessions set created_at = now() - interval '2 days'
    where user_id = (select id from users where email = ${fay.email})
  `.execute(portal.service.database);
    const page = await openAccount(fay);
    const sessions = section(page, 'Sessions');
    await sessions.getByText('You signed in more than a day ago.').waitFor();
    await assertAccessible(page, 'a session that is old');
    await sessions.getByRole('button', { name: 'Sign in again' }).click();
    await page.getByLabel('Email address').fill(fay.email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await sessions.getByText('This one').waitFor();
    assert.equal(page.url(), `${portalUrl}/account`);
  },
);
