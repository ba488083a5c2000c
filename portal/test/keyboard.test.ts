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
    const { service, open } = await openPortal();
    const { email } = await signUp(service, 'ada@example.org');
    const receiver = await startReceiver();
    const page = await open();

    await typeInto(page, page.getByLabel('Email address'), email);
    await typeInto(page, page.getByLabel('Password', { exact: true }), password);
    await page.keyboard.press('Enter');
    await heading(page, 'Overview');
    await skipToContent(page);

    await pressOn(page, page.getByRole('link', { name: 'Apps', exact: true }));
    await pressOn(page, page.getByRole('button', { name: 'Create your first app' }));
    await typeInto(page, page.getByLabel('Name'), 'Announcer');
    await page.keyboard.press('Enter');
    await heading(page, 'Announcer');

    await pressOn(page, page.getByRole('link', { name: 'Create a key' }));
    await pressOn(page, page.getByRole('button', { name: 'Create the first key' }));
    await typeInto(page, page.getByLabel('Name'), 'Server');
    await pressOn(page, page.getByRole('checkbox', { name: /events/i }).first(), 'Space');
    await pressOn(page, page.getByRole('button', { name: 'Create key' }));
    const secret = page.getByRole('region', { name: 'Your new key: Server' });
    await focused(page, 'Your new key: Server');
    await pressOn(page, secret.getByRole('button', { name: 'Copy', exact: true }));
    await secret.getByRole('button', { name: 'Copied' }).waitFor();
    await pressOn(page, page.getByRole('button', { name: 'Try it' }));
    await secret.getByText(/^It works: /).waitFor();
    await pressOn(page, page.getByRole('button', { name: 'I have kept it' }));
    await secret.waitFor({ state: 'detached' });

    await pressOn(page, page.getByRole('link', { name: 'Webhooks', exact: true }));
    await pressOn(page, page.getByRole('link', { name: 'New webhook' }).first());
    await typeInto(page, page.getByLabel('URL'), receiver.url);
    await tabTo(page, page.getByRole('radio', { name: /^Every event/ }));
    await page.keyboard.press('ArrowDown');
    await pressOn(page, page.getByRole('checkbox', { name: 'org.created' }), 'Space');
    await pressOn(page, page.getByRole('button', { name: 'Create webhook' }));
    await focused(page, 'The secret of your webhook');
    await pressOn(page, page.getByRole('button', { name: 'I have kept it' }));
    await pressOn(page, page.getByRole('button', { name: 'Send a test' }));
    await page.getByText('Accepted with 200').first().waitFor();
    assert.equal(receiver.received.length, 1);

    await pressOn(page, page.getByRole('button', { name: 'Pause' }));
    const dialogue = page.getByRole('dialog');
    await dialogue.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
    await pressOn(page, dialogue.getByRole('button', { name: 'Pause' }));
    await page.getByText('Paused by you').first().waitFor();
    await pressOn(page, page.getByRole('button', { name: 'Resume' }));
    await page.getByText('The webhook is active again.').waitFor();

    await pressOn(page, page.getByRole('button', { name: 'Your account' }));
    const menu = page.getByRole('menu');
    await menu.locator(':focus').waitFor({ state: 'attached' });
    for (const name of ['Account', 'Sign out']) {
      await page.keyboard.press('ArrowDown');
      await page.getByRole('menuitem', { name }).and(page.locator(':focus')).waitFor();
    }
    await page.keyboard.press('Enter');
    await heading(page, 'Sign in');
  },
);

async function skipToContent(page: Page): Promise<void> {
  const link = page.getByRole('link', { name: 'Skip to content' });
  await pressOn(page, link);
  await page.locator('#content:focus').waitFor();
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name, level: 1 }).waitFor();
}

async function focused(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name }).and(page.locator(':focus')).waitFor();
}
