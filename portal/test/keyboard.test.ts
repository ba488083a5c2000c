import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { pressOn, tabTo, typeInto } from './support/keyboard.ts';
import {
  addressLinkOf,
  linkOf,
  openPortal,
  openPortalWithProvider,
  password,
  portalUrl,
  signInAs,
  signUp,
} from './support/portal-browser.ts';

test(
  'a whole journey, from signing in to signing out, by keyboard alone',
  { skip: noBrowser },
  async () => {
    const { service, open } = await openPortal();
    const { email } = await signUp(service, 'ada@example.org');
    const receiver = await startReceiver();
    const page = await open();

    await typeInto(page, page.getByLabel('Email address'), email);
    await typeInto(page, page.getByLabel('Password', { exact: true }), password);
    await page.keyboard.press('Enter');
    await focused(page, 'Overview');
    await skipToContent(page);

    await pressOn(page, page.getByRole('link', { name: 'Apps', exact: true }));
    await focused(page, 'Apps');
    await pressOn(page, page.getByRole('button', { name: 'Create your first app' }));
    await typeInto(page, page.getByLabel('Name'), 'Announcer');
    await page.keyboard.press('Enter');
    await focused(page, 'Announcer');

    await pressOn(page, page.getByRole('link', { name: 'Create a key' }));
    await focused(page, 'Keys of Announcer');
    await tabTo(page, page.getByRole('textbox', { name: 'Name' }));
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText('Server');
    await pressOn(page, page.getByText('Scopes and expiry').locator('xpath=ancestor::summary'));
    await pressOn(page, page.getByRole('checkbox', { name: /events/i }).first(), 'Space');
    await pressOn(page, page.getByRole('button', { name: 'Create key' }));
    const secret = page.getByRole('region', { name: 'Your new key: Server' });
    await focused(page, 'Your new key: Server');
    await pressOn(page, secret.getByRole('button', { name: 'Copy the secret' }));
    await secret.getByRole('button', { name: 'Copied' }).waitFor();
    await pressOn(page, page.getByRole('button', { name: 'Try it' }));
    await secret.getByText(/^It works: /).waitFor();
    await pressOn(page, page.getByRole('button', { name: "Done, I've saved it" }));
    await secret.waitFor({ state: 'detached' });

    await pressOn(page, page.getByRole('link', { name: 'Webhooks', exact: true }));
    await focused(page, 'Webhooks of Announcer');
    await pressOn(page, page.getByRole('link', { name: 'New webhook' }).first());
    await focused(page, 'New webhook');
    await typeInto(page, page.getByLabel('URL'), receiver.url);
    await tabTo(page, page.getByRole('radio', { name: /^All events/ }));
    await page.keyboard.press('ArrowDown');
    await pressOn(page, page.getByRole('checkbox', { name: 'org.created' }), 'Space');
    await pressOn(page, page.getByRole('button', { name: 'Create webhook' }));
    await focused(page, 'The secret of your webhook');
    await pressOn(page, page.getByRole('button', { name: "Done, I've saved it" }));
    await pressOn(page, page.getByRole('button', { name: 'Send a test' }));
    await page.getByText('Accepted with 200').first().waitFor();
    assert.equal(receiver.received.length, 1);

    await pressOn(page, page.getByRole('button', { name: 'Deactivate' }));
    await confirm(page, 'Deactivate');
    await page.getByText('Deactivated: by a member or an API key').first().waitFor();
    await pressOn(page, page.getByRole('button', { name: 'Reactivate' }));
    await page.getByText('Webhook activated.').waitFor();

    await chooseFromMenu(page, 'Sign out');
    await focused(page, 'Sign in');
  },
);

test(
  'an account, from signing up to ending a session, by keyboard alone',
  { skip: noBrowser },
  async () => {
    const portal = await openPortalWithProvider('Example Login');
    const email = 'ada@example.org';
    const moved = 'ada@example.com';
    portal.provider.person = { sub: 'ada', email, email_verified: true };
    const page = await portal.open();
    const button = (name: string) => page.getByRole('button', { name, exact: true });

    await pressOn(page, page.getByRole('link', { name: 'Sign up' }));
    await focused(page, 'Sign up');
    await typeInto(page, page.getByLabel('Email address'), email);
    await pressOn(page, button('Send link'));
    await focused(page, 'Check the terminal');
    await page.goto(`${portalUrl}${linkOf(portal, email)}`);
    await typeInto(page, page.getByLabel('Name'), 'Ada');
    await typeInto(page, page.getByLabel('Password', { exact: true }), password);
    await page.keyboard.press('Enter');
    await focused(page, 'Overview');

    await chooseFromMenu(page, 'Account');
    await focused(page, 'Your account');
    await typeInto(page, page.getByLabel('New email address'), moved);
    await page.keyboard.press('Enter');
    await page.getByText(`the link for ${moved}`).waitFor();
    await page.goto(`${portalUrl}${addressLinkOf(portal)}`);
    await pressOn(page, button('Change address'));
    await focused(page, 'Your account');
    await pressOn(page, button('Add Example Login'));
    await page.getByText('You can now sign in with it.').waitFor();
    const other = await signInAs(portal.service, moved);
    await page.reload();
    const sessions = page.getByRole('region', { name: 'Sessions' });
    await pressOn(page, sessions.getByRole('button', { name: /^End session/ }));
    await confirm(page, 'End session');
    await focused(page, 'Sessions');
    assert.equal((await other.call('/session')).status, 401);
    await chooseFromMenu(page, 'Sign out');
    await focused(page, 'Sign in');

    await pressOn(page, page.getByRole('link', { name: 'Forgot your password?' }));
    await focused(page, 'Reset your password');
    await typeInto(page, page.getByLabel('Email address'), moved);
    await page.keyboard.press('Enter');
    await focused(page, 'Check the terminal');
    await page.goto(`${portalUrl}${linkOf(portal, moved)}`);
    await typeInto(page, page.getByLabel('New password', { exact: true }), password);
    await page.keyboard.press('Enter');
    await focused(page, 'Review your other ways to sign in');
    await pressOn(page, button('Remove Example Login'));
    await confirm(page, 'Remove');
    await focused(page, 'Review your other ways to sign in');
    await pressOn(page, page.getByRole('link', { name: 'Continue' }));
    await focused(page, 'Overview');
  },
);

/** Cancel has the focus first. */
async function confirm(page: Page, action: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
  await pressOn(page, dialog.getByRole('button', { name: action, exact: true }));
}

async function chooseFromMenu(page: Page, chosen: 'Account' | 'Sign out'): Promise<void> {
  await pressOn(page, page.getByRole('button', { name: 'Your account' }));
  await page.getByRole('menu').locator(':focus').waitFor({ state: 'attached' });
  const items = ['Account', 'Security', 'Show times in UTC', 'Sign out'];
  for (const name of items.slice(0, items.indexOf(chosen) + 1)) {
    await page.keyboard.press('ArrowDown');
    await page.getByRole('menuitem', { name }).and(page.locator(':focus')).waitFor();
  }
  await page.keyboard.press('Enter');
}

async function skipToContent(page: Page): Promise<void> {
  const link = page.getByRole('link', { name: 'Skip to content' });
  await pressOn(page, link);
  await page.locator('#content:focus').waitFor();
}

/** A new page moves the focus to its heading, which may be after it is seen: what is typed before would go there. */
async function focused(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name }).and(page.locator(':focus')).waitFor();
}
