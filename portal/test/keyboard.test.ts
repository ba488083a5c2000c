import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { pressOn, tabTo, typeInto } from './support/keyboard.ts';
import { openPortal, password, signUp } from './support/portal-browser.ts';

test(
  'a whole journey, from signing in to signing out, by keyboard alone',
  { skip: noBrowser },
  async () => {
    const portal = await openPortal();
    const { email } = await signUp(portal.service, 'ada@example.org');
    const receiver = await startReceiver();
    const page = await portal.open();

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

    await signOut(page);
    await focused(page, 'Sign in');
  },
);

/** Cancel has the focus first. */
async function confirm(page: Page, action: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
  await pressOn(page, dialog.getByRole('button', { name: action, exact: true }));
}

async function signOut(page: Page): Promise<void> {
  await pressOn(page, page.getByRole('button', { name: 'Your account' }));
  await page.getByRole('menu').locator(':focus').waitFor({ state: 'attached' });
  for (const name of ['Account', 'Security', 'Show times in UTC', 'Sign out']) {
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
