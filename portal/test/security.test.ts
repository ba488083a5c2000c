/** Passkeys, authenticator apps and recovery codes, in a real Chromium with its virtual authenticator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { codeOf } from '../../service/test/support/authenticator.ts';
import { callPortal } from '../../service/test/support/portal.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { pressOn, typeInto } from './support/keyboard.ts';
import {
  comeBack,
  drawn,
  linkOf,
  openPortal,
  openPortalWithProvider,
  password,
  portalUrl,
  postPortal,
  signUp,
  visit,
  type Person,
} from './support/portal-browser.ts';
import { addVirtualAuthenticator } from './support/virtual-authenticator.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortalWithProvider('Example Login');

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function openSecurity(as: Person): Promise<Page> {
  const page = await portal.open({ as, path: '/security', isNew: true });
  await addVirtualAuthenticator(page);
  await section(page, 'Passkeys').waitFor();
  return page;
}

async function enterPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
}

async function signOut(page: Page): Promise<void> {
  await button(page, 'Your account').click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await heading(page, 'Sign in').waitFor();
}

async function keyOn(page: Page): Promise<string> {
  const text = await page.getByTestId('authenticator-key').innerText();
  return text.replaceAll(/\s/g, '');
}

async function age({ email }: Person): Promise<void> {
  await sql`
    update sessions set proven_at = now() - interval '31 minutes'
    where user_id = (select id from users where email = ${email})
  `.execute(portal.service.database);
}

test('a passkey is added, signs in alone, is renamed and removed', options, async () => {
  const ada = await signUp(portal.service, 'ada@example.org');
  const page = await openSecurity(ada);
  await page.getByText('You have no passkeys.').waitFor();
  await assertAccessible(page, 'security without a second factor');
  const name = page.getByLabel('Name of the new passkey');
  assert.equal(await name.inputValue(), 'Chrome on Linux');
  await name.fill('Laptop');
  await button(page, 'Add a passkey').click();
  const codes = page.getByRole('region', { name: 'Your recovery codes' });
  await codes.getByRole('heading').and(page.locator(':focus')).waitFor();
  await assertAccessible(page, 'new recovery codes');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    codes.getByRole('link', { name: 'Download' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'recovery-codes.txt');
  await button(page, "Done, I've saved them").click();
  await page.getByText('10 codes are left.').waitFor();
  await page.getByText(/never used/).waitFor();

  await button(page, 'Add a passkey').click();
  await page.getByText('This device has a passkey for your account already.').waitFor();

  await signOut(page);
  await button(page, 'Sign in with a passkey').click();
  await heading(page, 'Overview').waitFor();

  await page.goto(`${portalUrl}/security`);
  await page.getByText(/last used/).waitFor();
  await button(page, 'Rename Laptop').click();
  const dialog = page.getByRole('dialog', { name: 'Rename Laptop' });
  await dialog.getByLabel('Name').fill('Work');
  await assertAccessible(page, 'a passkey that is to be renamed');
  await page.keyboard.press('Enter');
  await button(page, 'Remove Work').click();
  await page.getByRole('dialog', { name: 'Remove Work?' }).waitFor();
  await button(page, 'Remove').click();
  await page.getByText('You have no passkeys.').waitFor();
  await signOut(page);
  await button(page, 'Sign in with a passkey').click();
  await page.getByText('No account here has this passkey.').waitFor();
});

test(
  'by keyboard alone: an authenticator app is added, and asked for after the password',
  options,
  async () => {
    const bea = await signUp(portal.service, 'bea@example.org');
    const page = await openSecurity(bea);
    await pressOn(page, button(page, 'Add an authenticator app'));
    await page.getByRole('img', { name: 'QR code with the key' }).waitFor();
    await assertAccessible(page, 'an authenticator app that is to be added');
    const secret = await keyOn(page);
    const code = page.getByLabel('Code from the app');
    await typeInto(page, code, 'abc');
    await page.keyboard.press('Enter');
    await page.getByText('The code is wrong.').waitFor();
    await code.fill('');
    await typeInto(page, code, codeOf(secret));
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Your recovery codes' }).waitFor();
    const codes = await page.getByTestId('recovery-codes').locator('code').allInnerTexts();
    assert.equal(codes.length, 10);
    await pressOn(page, button(page, "Done, I've saved them"));
    await button(page, 'Remove the authenticator app').waitFor();

    const there = await portal.open({ path: '/apps' });
    await enterPassword(there, bea.email);
    await heading(there, 'Confirm your sign-in').waitFor();
    // No address of the portal leads past it.
    await there.goto(`${portalUrl}/apps`);
    await heading(there, 'Confirm your sign-in').waitFor();
    await typeInto(there, there.getByLabel('Code'), '000000');
    await there.keyboard.press('Enter');
    await there.getByText('The code is wrong.').waitFor();
    await assertAccessible(there, 'a wrong second factor');
    // An answer from before the code was entered comes late, and changes nothing.
    const cookies = await there.context().cookies();
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const { body } = await callPortal(portal.service, '/session', {}, cookie);
    assert.equal(body.data.missingFactor, 'confirm');
    const entered = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    await there.route(
      '**/portal/api/session',
      async (route) => {
        await entered.promise;
        // The page may have given it up.
        await route.fulfill({ json: body }).catch(() => {});
        answered.resolve();
      },
      { times: 1 },
    );
    const asked = there.waitForRequest('**/portal/api/session');
    await comeBack(there);
    await asked;
    // The next one: no code opens twice.
    await there.getByLabel('Code').fill(codeOf(secret, 1));
    await there.keyboard.press('Enter');
    await heading(there, 'Apps').waitFor();
    entered.resolve();
    await answered.promise;
    await drawn(there);
    assert.ok(await heading(there, 'Apps').isVisible());

    await signOut(there);
    await enterPassword(there, bea.email);
    await there.getByLabel('Code').fill(codes[0] ?? '');
    await there.keyboard.press('Enter');
    await heading(there, 'Overview').waitFor();
    await there.goto(`${portalUrl}/security`);
    await there.getByText('9 codes are left.').waitFor();
    await button(there, 'Create new codes').click();
    const dialog = there.getByRole('dialog', { name: 'Create new recovery codes?' });
    await dialog.getByRole('button', { name: 'Create new codes' }).click();
    await there.getByRole('region', { name: 'Your recovery codes' }).waitFor();
  },
);

test('a sensitive change asks for a passkey in one dialog, and then goes on', options, async () => {
  const cleo = await signUp(portal.service, 'cleo@example.org');
  const app = await create(cleo, '/apps', { name: 'Announcer' });
  const page = await openSecurity(cleo);
  await button(page, 'Add a passkey').click();
  await button(page, "Done, I've saved them").click();
  await age(cleo);
  await visit(page, `${portalUrl}/apps/${app.id}`);
  await button(page, 'Delete app').click();
  const asking = page.getByRole('dialog', { name: 'Delete Announcer' });
  await asking.getByRole('textbox').fill('Announcer');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByRole('button', { name: 'Use a passkey' }).waitFor();
  await assertAccessible(page, 'a deletion that is to be confirmed');
  await page.keyboard.press('Escape');
  await asking.getByText('Nothing was changed, because you did not confirm').waitFor();
  assert.equal(await asking.getByRole('textbox').inputValue(), 'Announcer');
  await asking.getByRole('button', { name: 'Delete app' }).click();
  await pressOn(page, dialog.getByRole('button', { name: 'Use a passkey' }));
  await heading(page, 'Apps').waitFor();
  assert.equal((await cleo.call('/apps')).body.data.length, 0);

  // What the dialog changed has the focus once it has closed.
  await age(cleo);
  await page.goto(`${portalUrl}/security`);
  await button(page, 'Remove Chrome on Linux').click();
  await page.getByRole('dialog', { name: 'Remove Chrome on Linux?' }).waitFor();
  await pressOn(page, button(page, 'Remove'));
  await pressOn(page, dialog.getByRole('button', { name: 'Use a passkey' }));
  await page.getByText('You have no passkeys.').waitFor();
  await section(page, 'Passkeys').getByRole('heading').and(page.locator(':focus')).waitFor();
});

test('a code on the terminal confirms where a provider signed in', options, async () => {
  portal.provider.person = { sub: 'dan', email: 'dan@example.org', email_verified: true };
  const page = await portal.open({ path: '/sign-in?next=%2Fsecurity' });
  await button(page, 'Continue with Example Login').click();
  await button(page, 'Add an authenticator app').click();
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await button(page, 'Send a code').click();
  await dialog.getByLabel('Code from the mail').waitFor();
  const [, code = ''] = /: (\d{8})$/.exec(portal.service.printed.at(-1) ?? '') ?? [];
  await dialog.getByLabel('Code from the mail').fill(code);
  await page.keyboard.press('Enter');
  await page.getByRole('img', { name: 'QR code with the key' }).waitFor();
});

test('where a second factor is required, it is set up first', options, async () => {
  const strict = await openPortal({ REQUIRE_SECOND_FACTOR: 'all' });
  const email = 'eve@example.org';
  await postPortal(strict.service, '/password-links', { email });
  const page = await strict.open({ path: linkOf(strict, email), isNew: true });
  await addVirtualAuthenticator(page);
  await page.getByLabel('Name').fill('Eve');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
  await heading(page, 'Set up a second factor').waitFor();
  await assertAccessible(page, 'a second factor that is to be set up');
  await page.goto(`${portalUrl}/apps`);
  await heading(page, 'Set up a second factor').waitFor();
  const other = await page.context().newPage();
  await other.goto(`${portalUrl}/apps`);
  await heading(other, 'Set up a second factor').waitFor();
  await button(page, 'Add a passkey').click();
  await page.getByRole('region', { name: 'Your recovery codes' }).waitFor();
  // Coming back to the window leaves the codes on it.
  await page.evaluate(`window.dispatchEvent(new Event('focus'))`);
  const asked = page.waitForEvent('dialog');
  const left = page.evaluate('location.reload()').catch(() => {});
  await (await asked).dismiss();
  await left;
  await button(page, "Done, I've saved them").click();
  await heading(page, 'Apps').waitFor();
  await comeBack(other);
  await heading(other, 'Apps').waitFor();
});
