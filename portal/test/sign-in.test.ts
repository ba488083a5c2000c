import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startOidcProvider } from '../../service/test/support/oidc-provider.ts';
import { disableMaintenance, enableMaintenance } from '../../service/src/system/maintenance.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { nextPage, pageBefore } from '../src/sign-in/next-page.ts';
import { assertAccessible } from './support/accessibility.ts';
import {
  callAuth,
  openPortal,
  password,
  portalUrl,
  printedLink,
  signUp,
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
        OIDC_NAME: 'Example Login of a rather long name',
      },
      { providers: [provider.issuer] },
    );

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value);
}

const session = '**/portal/api/session';
/** As where the connection goes: what was done is done, and nobody can say who is signed in. */
async function refuseSession(page: Page): Promise<void> {
  await page.route(session, (route) => route.abort());
}

/** Below `/profile/developer`. */
const placeOf = (page: Page) => page.url().replace(portalUrl, '') || '/';
const printed = (email: string) =>
  `${portalUrl}/../../portal/api/auth${printedLink(portal.service, email)}`;

test(
  'the first account is made with the link of the terminal, and signed in',
  options,
  async () => {
    const link = (await portal.service.signIn.offerFirstAccount()) ?? '';
    const another = (await portal.service.signIn.offerFirstAccount()) ?? '';
    const page = await portal.open({ path: link.replace(portalUrl, '') });
    await heading(page, 'The first account').waitFor();
    assert.equal(placeOf(page), '/first-account', 'the secret is out of the address');
    await assertAccessible(page, 'the first account');
    await fill(page, { Name: 'Root', 'Email address': 'root@example.org', Password: password });
    await button(page, 'Create the account').click();
    await heading(page, 'Overview').waitFor();
    assert.equal(placeOf(page), '/');

    const late = await portal.open({ path: another.replace(portalUrl, '') });
    await fill(late, { Name: 'Late', 'Email address': 'late@example.org', Password: password });
    await button(late, 'Create the account').click();
    await late
      .getByText('The link was used, has run out, or there is an account already')
      .waitFor();
    await late.reload();
    await late.getByText('Open the link as it stands on the terminal').waitFor();
  },
);

test('an account is made, confirmed by its link, signed in and out with', options, async () => {
  const email = 'cleo@example.org';
  const page = await portal.open({ path: '/apps?page=2' });
  await page.getByRole('link', { name: 'Sign up' }).click();
  await heading(page, 'Sign up').waitFor();
  await button(page, 'Create the account').click();
  const name = page.getByLabel('Name', { exact: true });
  await page.getByText('Give a name').waitFor();
  assert.ok(await name.evaluate((element) => element === element.ownerDocument.activeElement));
  await assertAccessible(page, 'sign up, with what is missing');
  await fill(page, { Name: 'Cleo', 'Email address': ` ${email} `, Password: password });
  await page.keyboard.press('Enter');
  await heading(page, 'Confirm your address').waitFor();
  await page.getByText('printed on the terminal').waitFor();
  await assertAccessible(page, 'what follows signing up');

  await page.getByRole('link', { name: 'Sign in' }).click();
  await fill(page, { 'Email address': email, Password: password });
  await page.keyboard.press('Enter');
  await page.getByText('Your address is not confirmed yet').waitFor();
  const before = portal.service.printed.length;
  await button(page, 'Send the link again').click();
  await page.getByText('It is on its way').waitFor();
  assert.equal(portal.service.printed.length, before + 1);
  await assertAccessible(page, 'an address that is not confirmed');

  await page.goto(printed(email));
  await page.getByText('Your address is confirmed').waitFor();
  await page.goto(`${portalUrl}/sign-in?next=%2Fapps%3Fpage%3D2`);
  await fill(page, { 'Email address': email, Password: password });
  await button(page, 'Sign in').click();
  await heading(page, 'Apps').waitFor();
  assert.equal(placeOf(page), '/apps?page=2');
  await button(page, 'Your account').click();
  await refuseSession(page);
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await heading(page, 'Sign in').waitFor();
  await page.goto(`${portalUrl}/apps`);
  await heading(page, 'Sign in').waitFor();
});

test('a wrong password and too many of them are told in words', options, async () => {
  const email = 'guessed@example.org';
  await signUp(portal.service, email);
  const page = await portal.open({ path: '/sign-in' });
  await fill(page, { 'Email address': email, Password: 'not this one' });
  await page.keyboard.press('Enter');
  await page.getByText('The address or the password is wrong').waitFor();
  const field = page.getByLabel('Password', { exact: true });
  assert.ok(await field.evaluate((element) => element === element.ownerDocument.activeElement));
  await assertAccessible(page, 'a wrong password');
  // Each counts, whatever it lacks.
  for (let guess = 0; guess < 20; guess += 1)
    await callAuth(portal.service, '/sign-in/email', { json: { email } });
  await button(page, 'Sign in').click();
  await page.getByText(/Too many attempts; try again later\. Try again in \d+ s\./).waitFor();
});

test('a password that was forgotten is replaced by a link, once', options, async () => {
  const email = 'forgetful@example.org';
  await signUp(portal.service, email);
  const page = await portal.open({ path: '/sign-in' });
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await heading(page, 'Forgot your password?').waitFor();
  await assertAccessible(page, 'a forgotten password');
  await fill(page, { 'Email address': email });
  await button(page, 'Send the link').click();
  await heading(page, 'Open the link').waitFor();
  const link = printed(email);
  await page.goto(link);
  await heading(page, 'Choose a new password').waitFor();
  assert.equal(placeOf(page), '/reset-password', 'the secret is out of the address');
  await assertAccessible(page, 'a new password');
  await fill(page, { 'New password': 'short' });
  await button(page, 'Set the password').click();
  await page.getByText('Choose at least 10 characters').waitFor();
  await fill(page, { 'New password': 'another horse entirely' });
  await refuseSession(page);
  await button(page, 'Set the password').click();
  await page.getByText('Your new password is set').waitFor();
  await page.unroute(session);
  await fill(page, { 'Email address': email, Password: 'another horse entirely' });
  await button(page, 'Sign in').click();
  await heading(page, 'Overview').waitFor();

  await page.goto(link);
  await page.getByText('The link was used already').waitFor();
});

test(
  'what a link or a provider could not do is told in words, and nothing else is',
  options,
  async () => {
    const page = await portal.open({ path: '/sign-in?confirmed=true&error=TOKEN_EXPIRED' });
    await page.getByText('The link has run out').waitFor();
    await page.goto(`${portalUrl}/sign-in?error=state_mismatch`);
    await page.getByText('longer than ten minutes').waitFor();
    await page.goto(
      `${portalUrl}/sign-in?error=${encodeURIComponent('call 0800 123: we are you')}`,
    );
    await page.getByText('Something went wrong on the way').waitFor();
    assert.equal(await page.getByText('0800').count(), 0);
  },
);

test(
  'whoever is signed in goes on to where they wanted to go, and to no other host',
  options,
  async () => {
    const person = await signUp(portal.service, 'next@example.org');
    for (const [next, place] of [
      ['/apps', '/apps'],
      ['//evil.example', '/'],
      ['/\\evil.example', '/'],
      ['https://evil.example/', '/'],
    ] as const) {
      const page = await portal.open({
        as: person,
        path: `/sign-in?next=${encodeURIComponent(next)}`,
      });
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      assert.equal(placeOf(page), place, next);
    }
  },
);

test('only paths of the portal are where one goes on to', () => {
  const next = (value: string) => nextPage(new URLSearchParams({ next: value }));
  for (const evil of [
    '//evil.example',
    '\\\\evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n//evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    'evil.example',
    '///evil.example',
    '/.//evil.example',
    '/apps/..//evil.example',
    '/%2e%2e//evil.example',
    '/\\\\evil.example',
    '//',
    '',
  ])
    assert.equal(next(evil), '/', JSON.stringify(evil));
  assert.equal(nextPage(new URLSearchParams()), '/');
  const place = '/apps/1/webhooks?since=2026-01-01T00:00:00Z&event=a,b';
  assert.equal(next(place), place);
  const before = pageBefore(`${place}'()*!~`, '/sign-in');
  assert.match(before, /^\/sign-in\?next=[A-Za-z0-9%._-]+$/);
  assert.equal(next('/apps?x=1#part'), '/apps?x=1');
});

test('a provider brings somebody in, and where they wanted to go', options, async () => {
  provider.person = { sub: 'p1', email: 'p@example.org', email_verified: true, name: 'Pat' };
  const page = await portal.open({ path: '/account' });
  await button(page, 'Continue with Example Login of a rather long name').click();
  await heading(page, 'Your account').waitFor();
  assert.equal(placeOf(page), '/account');
  await page.getByText('p@example.org').waitFor();
  await page.getByText('You have none: you sign in another way').waitFor();
});

test('a provider takes over no account, and the page says what to do', options, async () => {
  const person = await signUp(portal.service, 'taken@example.org');
  provider.person = { sub: 'p2', email: person.email, email_verified: true };
  const page = await portal.open({ path: '/sign-in?next=%2Fapps' });
  await button(page, 'Continue with Example Login of a rather long name').click();
  await page.getByText('There is an account with your address already').waitFor();
  assert.match(placeOf(page), /next=%2Fapps/);
  await assertAccessible(page, 'a provider that is not linked');
});

test('during maintenance the sign-in page says so, and lets people in', options, async () => {
  const { database } = portal.service;
  const person = await signUp(portal.service, 'patient@example.org');
  await enableMaintenance(database, testActor, { message: 'A new disk.', expectedEnd: null });
  await portal.service.settled();
  const page = await portal.open({ path: '/sign-in' });
  await page.getByText('A new disk.').waitFor();
  await assertAccessible(page, 'sign in during maintenance');
  await fill(page, { 'Email address': person.email, Password: password });
  await button(page, 'Sign in').click();
  await heading(page, 'Overview').waitFor();
  await disableMaintenance(database, testActor);
});

test(
  'an account that is made and not signed in is signed in to, not made again',
  options,
  async () => {
    const { open, service } = await openPortal();
    const link = (await service.signIn.offerFirstAccount()) ?? '';
    const page = await open({ path: link.replace(portalUrl, '') });
    const account = { 'Email address': 'root@example.org', Password: password };
    await fill(page, { Name: 'Root', ...account });
    await page.route('**/portal/api/auth/sign-in/email', (route) => route.abort(), { times: 1 });
    await button(page, 'Create the account').click();
    await page.getByText('Your account is made').waitFor();
    assert.equal(placeOf(page), '/sign-in?made=true');
    await fill(page, account);
    await button(page, 'Sign in').click();
    await heading(page, 'Overview').waitFor();
  },
);

test('where no mail is sent, the pages offer what is left', options, async () => {
  const open = await openPortal({ HOST: '0.0.0.0' });
  const page = await open.open({ path: '/sign-up' });
  await page.getByText('No account can be made here').waitFor();
  await assertAccessible(page, 'sign up without mail');
  await page.goto(`${portalUrl}/forgot-password`);
  await page.getByText('nobody can get a new password here').waitFor();
  await page.goto(`${portalUrl}/sign-in`);
  await heading(page, 'Sign in').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Sign up' }).count(), 0);
});
