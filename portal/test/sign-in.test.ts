import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { returnPattern } from '../../service/src/http/portal/callback.ts';
import { codeOf } from '../../service/test/support/authenticator.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { nextPage, pageBefore } from '../src/sign-in/next-page.ts';
import { assertAccessible } from './support/accessibility.ts';
import {
  linkOf,
  openPortal,
  openPortalWithProvider,
  password,
  portalUrl,
  postPortal,
  signUp,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const providerName = 'Example Login of a rather long name';
const portal = noBrowser ? null! : await openPortalWithProvider(providerName);
const newPassword = 'another horse entirely';

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value);
}

/** The path below `/profile/developer`. */
const placeOf = (page: Page) => page.url().replace(portalUrl, '') || '/';

/** Requests a link as the pages do, and returns its path. */
async function requestLink(email: string): Promise<string> {
  const { status } = await postPortal(portal.service, '/password-links', { email });
  assert.equal(status, 202);
  return linkOf(portal, email);
}

test('the first account is created with the link on the terminal', options, async () => {
  const link = (await portal.service.signIn.offerFirstAccount()) ?? '';
  const another = (await portal.service.signIn.offerFirstAccount()) ?? '';
  const late = await portal.open({ path: another.replace(portalUrl, '') });
  await heading(late, 'Create the first account').waitFor();
  const page = await portal.open({ path: link.replace(portalUrl, '') });
  await heading(page, 'Create the first account').waitFor();
  assert.equal(placeOf(page), '/first-account', 'the token is out of the address');
  await assertAccessible(page, 'the first account');
  await fill(page, { Name: 'Root', 'Email address': 'root@example.org', Password: password });
  await button(page, 'Create account').click();
  await heading(page, 'Overview').waitFor();
  assert.equal(placeOf(page), '/');

  await fill(late, { Name: 'Late', 'Email address': 'late@example.org', Password: password });
  await button(late, 'Create account').click();
  await late.getByText("This link can't be used").waitFor();
  await late.reload();
  await late.getByText('Open the link from the terminal').waitFor();
  const again = await portal.open({ path: link.replace(portalUrl, '') });
  await again.getByText("This link can't be used").waitFor();
  await assertAccessible(again, 'a used link of the first account');
  await again.getByRole('alert').getByRole('link', { name: 'sign in' }).click();
  await heading(again, 'Sign in').waitFor();
});

test('somebody signs up, sets a password with the link, and signs out', options, async () => {
  const email = 'cleo@example.org';
  const page = await portal.open({ path: '/apps?page=2' });
  await page.getByRole('link', { name: 'Sign up' }).click();
  await heading(page, 'Sign up').waitFor();
  await button(page, 'Send link').click();
  await page.getByText('Enter an email address').waitFor();
  const address = page.getByLabel('Email address');
  await address.and(page.locator(':focus')).waitFor();
  await assertAccessible(page, 'sign up without an address');
  await fill(page, { 'Email address': ` ${email} ` });
  await page.keyboard.press('Enter');
  await heading(page, 'Check the terminal').and(page.locator(':focus')).waitFor();
  await page.getByText(`the link for ${email} is printed on the terminal`).waitFor();
  await button(page, 'Send another link').click();
  assert.equal(await address.inputValue(), email);

  await page.goto(`${portalUrl}${linkOf(portal, email)}`);
  await heading(page, 'Set your password').waitFor();
  await page.getByText('This creates your account.').waitFor();
  assert.equal(await address.inputValue(), email);
  assert.equal(placeOf(page), '/set-password', 'the token is out of the address');
  await fill(page, { Password: 'short' });
  await button(page, 'Create account').click();
  await page.getByText('Enter a name').waitFor();
  await page.getByText('Use at least 10 characters').waitFor();
  await fill(page, { Name: 'Cleo', Password: password });
  await page.keyboard.press('Enter');
  await heading(page, 'Overview').waitFor();
  assert.equal(placeOf(page), '/');

  await button(page, 'Your account').click();
  await page.getByRole('menu').getByText('Cleo').waitFor();
  // The connection fails: the portal shows that they are signed out all the same.
  await page.route('**/portal/api/session', (route) => route.abort());
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await heading(page, 'Sign in').waitFor();
  await page.goto(`${portalUrl}/apps`);
  await heading(page, 'Sign in').waitFor();
});

test(
  'a wrong password is refused, and the right one leads to where one wanted to go',
  options,
  async () => {
    const email = 'guessed@example.org';
    await signUp(portal.service, email);
    const page = await portal.open({ path: '/events?app=none#org.created' });
    await heading(page, 'Sign in').waitFor();
    assert.equal(placeOf(page), '/sign-in?next=%2Fevents%3Fapp%3Dnone%23org.created');
    await fill(page, { 'Email address': email, Password: 'not this one' });
    await page.keyboard.press('Enter');
    await page.getByText('The email address or the password is wrong.').waitFor();
    assert.equal(await page.getByText('Your session has ended').count(), 0);
    await page.getByLabel('Password', { exact: true }).and(page.locator(':focus')).waitFor();
    await assertAccessible(page, 'a wrong password');
    await fill(page, { Password: password });
    await button(page, 'Sign in').click();
    await heading(page, 'Events').waitFor();
    assert.equal(new URL(page.url()).hash, '#org.created');
  },
);

test('after too many attempts the page says when to try again', options, async () => {
  const credentials = { email: 'flooded@example.org', password };
  const page = await portal.open({ path: '/sign-in' });
  await fill(page, { 'Email address': credentials.email, Password: password });
  // The service accepts only ten at once from one address.
  for (let round = 0; round < 2; round += 1)
    await Promise.all(
      Array.from({ length: 10 }, () => postPortal(portal.service, '/sign-in', credentials)),
    );
  await button(page, 'Sign in').click();
  await page.getByText(/Too many attempts\. Try again in \d+ seconds?\./).waitFor();
});

test('opening a link changes nothing, and it sets a password once', options, async () => {
  const email = 'forgetful@example.org';
  const person = await signUp(portal.service, email);
  const page = await portal.open({ path: '/sign-in' });
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await heading(page, 'Reset your password').waitFor();
  await fill(page, { 'Email address': email });
  await button(page, 'Send link').click();
  await heading(page, 'Check the terminal').waitFor();

  const link = linkOf(portal, email);
  const opened = await portal.open({ path: link });
  await opened.getByText('You will be signed out everywhere else.').waitFor();
  await opened.close();
  assert.equal((await person.call('/session')).status, 200);

  await page.goto(`${portalUrl}${link}`);
  await page.getByText('You will be signed out everywhere else.').waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), email);
  assert.equal(await page.getByLabel('Name').count(), 0);
  await assertAccessible(page, 'a new password');
  await fill(page, { 'New password': newPassword });
  await button(page, 'Set password').click();
  await heading(page, 'Overview').waitFor();
  assert.equal((await person.call('/session')).status, 401, 'the session before has ended');

  const late = await portal.open({ path: link });
  await late.getByText("This link can't be used").waitFor();
  await late.reload();
  await late.getByText('Open the link again').waitFor();
  await assertAccessible(late, 'a page without its token');
});

test('a newer link replaces an older one', options, async () => {
  const email = 'twice@example.org';
  const first = await requestLink(email);
  const page = await portal.open({ path: first });
  await fill(page, { Name: 'Twice', Password: password });
  const second = await requestLink(email);
  await button(page, 'Create account').click();
  await page.getByText("This link can't be used").waitFor();
  // In the same window the two addresses differ in their fragment only, so the page is not loaded again.
  await page.evaluate(`window.location.assign(${JSON.stringify(portalUrl + second)})`);
  await fill(page, { Name: 'Twice', Password: password });
  assert.equal(placeOf(page), '/set-password', 'the token is out of the address');
  await button(page, 'Create account').click();
  await heading(page, 'Overview').waitFor();

  const late = await portal.open({ path: first });
  await late.getByRole('link', { name: 'Request a new link' }).click();
  await heading(late, 'Reset your password').waitFor();
});

test(
  'after a reset the other ways to sign in are listed, and can be removed',
  options,
  async () => {
    const email = 'careful@example.org';
    const person = await signUp(portal.service, email);
    portal.provider.person = { sub: 'intruder', email, email_verified: true };
    const intruder = await portal.open({ as: person, path: '/account' });
    await button(intruder, `Add ${providerName}`).click();
    await intruder.getByText('You can now sign in with it.').waitFor();

    const page = await portal.open({ path: await requestLink(email) });
    await fill(page, { 'New password': newPassword });
    await button(page, 'Set password').click();
    await heading(page, 'Review your other ways to sign in').and(page.locator(':focus')).waitFor();
    await page.getByText(/^Added /).waitFor();
    assert.equal(await page.getByRole('listitem').count(), 1, 'the password is not among them');
    await button(page, `Remove ${providerName}`).click();
    await page.getByRole('dialog', { name: `Remove ${providerName}?` }).waitFor();
    await button(page, 'Remove').click();
    await page.getByText('There are no other ways to sign in.').waitFor();
    await heading(page, 'Review your other ways to sign in').and(page.locator(':focus')).waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await heading(page, 'Overview').waitFor();

    await intruder.goto(`${portalUrl}/sign-in?next=%2Fapps`);
    await button(intruder, `Continue with ${providerName}`).click();
    await intruder.getByText('There is already an account with your email address').waitFor();
    assert.match(placeOf(intruder), /next=%2Fapps/);
    await assertAccessible(intruder, 'a provider that was not added');
  },
);

test('after a reset passkeys are listed too, and can be removed', options, async () => {
  const email = 'watchful@example.org';
  const person = await signUp(portal.service, email);
  const post = (path: string, json: unknown) => person.call(path, { method: 'POST', json });
  const { secret } = (await post('/account/authenticator', {})).body.data;
  const added = await post('/account/authenticator/confirm', { code: codeOf(secret) });
  assert.equal(added.status, 200, added.text);
  await sql`
    insert into passkeys (id, user_id, name, credential_id, public_key, counter)
    select gen_random_uuid(), id, 'Phone of an intruder', 'AAAA', '', 0 from users where email = ${email}
  `.execute(portal.service.database);

  const page = await portal.open({ path: await requestLink(email) });
  await fill(page, { 'New password': newPassword });
  await button(page, 'Set password').click();
  await heading(page, 'Confirm your sign-in').waitFor();
  await fill(page, { Code: codeOf(secret, 1) });
  await button(page, 'Confirm').click();
  await heading(page, 'Review your other ways to sign in').waitFor();
  await assertAccessible(page, 'a passkey among the other ways to sign in');
  await button(page, 'Remove Phone of an intruder').click();
  await page.getByRole('dialog').waitFor();
  await button(page, 'Remove').click();
  await page.getByText('There are no other ways to sign in.').waitFor();
});

test(
  'if signing in fails after a password is set, the sign-in page takes over',
  options,
  async () => {
    const email = 'unlucky@example.org';
    const person = await signUp(portal.service, email);
    const page = await portal.open({ as: person, path: await requestLink(email) });
    await page.route('**/portal/api/sign-in', (route) => route.abort(), { times: 1 });
    await fill(page, { 'New password': newPassword });
    await button(page, 'Set password').click();
    await page.getByText('Your password is set').waitFor();
    await fill(page, { 'Email address': email, Password: newPassword });
    await button(page, 'Sign in').click();
    await heading(page, 'Overview').waitFor();
  },
);

test(
  'a failed provider is explained, and nothing else in the address is shown',
  options,
  async () => {
    const page = await portal.open({ path: '/sign-in?error=state_mismatch' });
    await page.getByText('It took too long').waitFor();
    await page.goto(
      `${portalUrl}/sign-in?error=${encodeURIComponent('call 0800 123: we are you')}`,
    );
    await page.getByText('Something went wrong').waitFor();
    assert.equal(await page.getByText('0800').count(), 0);
  },
);

test(
  'somebody who is signed in continues to where they wanted to go, and to no other host',
  options,
  async () => {
    const person = await signUp(portal.service, 'next@example.org');
    for (const [next, place] of [
      ['/apps', '/apps'],
      ['//evil.example', '/'],
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

test('only pages of the portal are continued to', () => {
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
  const before = pageBefore(`${place} \\'()*!~`, '/sign-in');
  assert.match(`/profile/developer${before}`, new RegExp(returnPattern(testPublicUrl)));
  assert.equal(next('/events?app=1#org.created'), '/events?app=1#org.created');
  for (const page of ['/set-password', '/change-address', '/first-account', '/invitation'])
    assert.equal(next(`${page}#token`), page);
});

test(
  'a provider signs somebody in, who continues to where they wanted to go',
  options,
  async () => {
    portal.provider.person = {
      sub: 'p1',
      email: 'p@example.org',
      email_verified: true,
      name: 'Pat',
    };
    const page = await portal.open({ path: '/account' });
    await button(page, `Continue with ${providerName}`).click();
    await heading(page, 'Your account').waitFor();
    assert.equal(placeOf(page), '/account');
    await page.getByText('p@example.org').waitFor();
    await button(page, 'Send a link to set one').click();
    await page.getByText('the link for p@example.org is printed on the terminal').waitFor();
    await assertAccessible(page, 'an account without a password');
  },
);

test(
  'where no mail is sent, the pages say whom to ask, and the first account signs in',
  options,
  async () => {
    const { open, service } = await openPortal({ HOST: '0.0.0.0' });
    const page = await open({ path: '/sign-in' });
    for (const [link, title] of [
      ['Sign up', 'Sign up'],
      ['Forgot your password?', 'Reset your password'],
    ] as const) {
      await page.getByRole('link', { name: link }).click();
      await heading(page, title).waitFor();
      await page.getByText('Ask its operator for one').waitFor();
      await page.getByRole('link', { name: 'Sign in' }).click();
    }

    // If signing in fails after the account is created, the sign-in page takes over.
    const link = (await service.signIn.offerFirstAccount()) ?? '';
    await page.goto(link);
    const account = { 'Email address': 'root@example.org', Password: password };
    await fill(page, { Name: 'Root', ...account });
    await page.route('**/portal/api/sign-in', (route) => route.abort(), { times: 1 });
    await button(page, 'Create account').click();
    await page.getByText('Your password is set').waitFor();
    await fill(page, account);
    await button(page, 'Sign in').click();
    await heading(page, 'Overview').waitFor();
  },
);
