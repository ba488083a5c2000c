import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { appRoles } from '../../service/src/contract/app-roles.ts';
import { publishEvent } from '../../service/src/directory/publish-in-groups.ts';
import { createAccountLink } from '../../service/src/sign-in/accounts.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { tokenOf } from '../../service/test/support/portal.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { startSmtpServer } from '../../service/test/support/smtp-server.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { can, type Action } from '../src/apps/can.ts';
import { assertAccessible, assertReadable } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { pressOn, tabTo, typeInto } from './support/keyboard.ts';
import {
  drawn,
  openPortal,
  password,
  portalUrl,
  postPortal,
  signInAs,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const mail = noBrowser ? null! : await startSmtpServer();
const portal = noBrowser
  ? null!
  : await openPortal({
      SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
      MAIL_FROM: 'Directory <no-reply@example.org>',
    });
const ada = noBrowser ? null! : await signUp('ada@example.org');
if (!noBrowser)
  await put(portal.service.database, 'orgs', [
    { slug: 'acme', name: 'Acme', managers: [ada.email] },
  ]);

async function signUp(email: string): Promise<Person> {
  const { url } = await portal.service.database
    .transaction()
    .execute((tx) => createAccountLink(tx, testActor, { email, publicUrl: testPublicUrl }));
  const chosen = { token: tokenOf(url), password, name: email.split('@')[0] };
  assert.equal((await postPortal(portal.service, '/password', chosen)).status, 200);
  return signInAs(portal.service, email);
}

/** The path, below `/profile/developer`, of the last invitation that was mailed to somebody. */
function invitationLink(email: string): Promise<string> {
  return mailedLink(email, /\/invitation#[\w-]{43}/);
}

function mailedLink(email: string, pattern: RegExp): Promise<string> {
  return eventually(async () => {
    const texts = mail.mails.filter(({ to }) => to.includes(email)).map(({ text }) => text);
    return pattern.exec(texts.findLast((text) => pattern.test(text)) ?? '')?.[0];
  });
}

async function addMember(appId: string, person: Person, role: string): Promise<string> {
  const { id } = await create(ada, `/apps/${appId}/invitations`, { email: person.email, role });
  await create(person, `/invitations/${id}/accept`);
  const { body } = await ada.call(`/apps/${appId}/members`);
  return body.data.find((member: { email: string }) => member.email === person.email).id;
}

async function bind(appId: string): Promise<void> {
  const json = { kind: 'organization', slug: 'acme' };
  const { status } = await ada.call(`/apps/${appId}/binding`, { method: 'PUT', json });
  assert.equal(status, 200);
}

const focusedHeading = (page: Page, name: string) =>
  page.locator('h1:focus, h2:focus', { hasText: name }).waitFor();
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button(page, 'Sign in').click();
}

/** The buttons of a page's content, without the icons that copy. */
async function buttonsOf(page: Page): Promise<string[]> {
  const names = await page.locator('#content').getByRole('button').allInnerTexts();
  return names.filter((name) => name !== '');
}

test('one table decides what each role can do', () => {
  const allowed = (action: Action) =>
    appRoles.filter((role) => can({ role, suspendedAt: null }, action));
  assert.deepEqual(allowed('changeKeys'), ['developer', 'owner']);
  assert.deepEqual(allowed('changeWebhooks'), ['developer', 'owner']);
  assert.deepEqual(allowed('readInternalBodies'), ['developer', 'owner']);
  assert.deepEqual(allowed('getFailureMails'), ['developer', 'owner']);
  assert.deepEqual(allowed('changeApp'), ['owner']);
  assert.deepEqual(allowed('changeMembers'), ['owner']);
  assert.equal(can(undefined, 'changeKeys'), false, 'nothing while the app loads');
});

test(
  'somebody without an account is invited by keyboard, accepts, looks, is promoted and leaves',
  options,
  async () => {
    const email = 'grace@example.org';
    const { id } = await create(ada, '/apps', { name: 'Announcer' });
    await create(ada, `/apps/${id}/keys`, { name: 'Server', scopes: ['read:directory'] });
    const { url } = await startReceiver();
    const hook = await create(ada, `/apps/${id}/webhooks`, { url: `${url}/token/s3cret` });
    const hookPath = `/apps/${id}/webhooks/${hook.id}`;
    await create(ada, `${hookPath}/test`);
    const { body } = await ada.call(`${hookPath}/deliveries`);
    const deliveryPath = `${hookPath}/deliveries/${body.data[0].id}`;

    const page = await portal.open({ as: ada, path: `/apps/${id}` });
    await pressOn(page, page.getByRole('link', { name: 'Members', exact: true }));
    await focusedHeading(page, 'Members of Announcer');
    await page.getByText('To leave, first make another member an owner').waitFor();
    await page.getByText('No pending invitations.').waitFor();
    await pressOn(page, button(page, 'Send invitation'));
    await page.getByText('Enter an email address').waitFor();
    await typeInto(page, page.getByLabel('Email address'), email);
    assert.ok(await page.getByRole('radio', { name: 'Viewer' }).isChecked(), 'the least rights');
    await pressOn(page, button(page, 'Send invitation'));
    await page.getByText(`We mailed an invitation to ${email}.`).waitFor();
    const pending = page.getByRole('list', { name: 'Pending invitations' });
    const invited = pending.getByRole('listitem').filter({ hasText: email });
    await invited.getByText('Viewer').waitFor();
    await invited.getByText('Invited by ada@example.org. Expires in 7 days.').waitFor();
    await assertAccessible(page, 'members and invitations');

    await page.getByLabel('Email address').and(page.locator(':focus')).waitFor();
    await page.keyboard.insertText(email);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText(`${email} is already invited`).waitFor();

    const grace = await portal.open({ path: await invitationLink(email) });
    await grace
      .getByText(`ada@example.org invites ${email} to the app Announcer as a viewer`)
      .waitFor();
    assert.ok(!grace.url().includes('#'), 'the token is out of the address');
    await assertAccessible(grace, 'an invitation for somebody without an account');
    await pressOn(grace, button(grace, 'Sign up'));
    await grace.getByText(`We sent a link to ${email}.`).waitFor();
    const signUpLink = await mailedLink(email, /\/set-password\?next=[^#]+#[\w-]{43}/);
    await grace.goto(`${portalUrl}${signUpLink}`);
    await grace.getByRole('heading', { name: 'Set your password' }).waitFor();
    assert.ok(!grace.url().includes('#'), 'the token is out of the address');
    await typeInto(grace, grace.getByLabel('Name'), 'Grace');
    await typeInto(grace, grace.getByLabel('Password', { exact: true }), password);
    await grace.keyboard.press('Enter');
    const banner = region(grace, 'You are invited to Announcer');
    await banner.getByText('ada@example.org invites you. Your role: viewer.').waitFor();
    await assertAccessible(grace, 'an invitation on the list of apps');
    await pressOn(grace, button(grace, 'Accept the invitation to Announcer'));
    await focusedHeading(grace, 'Announcer');

    const viewer = 'You are a viewer of this app. Only';
    const seen = async (path: string, ready: string, buttons: string[]) => {
      await grace.goto(`${portalUrl}${path}`);
      await grace.getByText(ready).first().waitFor();
      await grace.getByText(viewer).waitFor();
      assert.deepEqual(await buttonsOf(grace), buttons, path);
      assert.equal(await grace.getByText('s3cret').count(), 0, path);
    };
    await seen(`/apps/${id}`, 'Not bound', []);
    await seen(`/apps/${id}/keys`, 'Server', []);
    await seen(`/apps/${id}/webhooks`, 'Last failure', []);
    await seen(`/apps/${id}/webhooks/new`, viewer, []);
    await seen(`${hookPath}/settings`, 'Webhook id', []);
    // In other colours and widths it is the owner's page.
    await assertReadable(grace, 'settings for a viewer');
    await seen(`${hookPath}/test`, 'Last success', []);
    await seen(`${hookPath}/deliveries`, 'Pause updates', ['Pause updates']);
    await seen(deliveryPath, 'Body', []);
    await seen(`/apps/${id}/members`, 'grace@example.org', ['Leave']);
    const refused = await grace.evaluate(`fetch('/portal/api/apps/${id}/keys', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Mine', scopes: ['read:directory'] }),
    }).then(({ status }) => status)`);
    assert.equal(refused, 403);

    await page.reload();
    await pressOn(page, button(page, `Change role of ${email}`));
    const dialog = page.getByRole('dialog', { name: `Change the role of ${email}` });
    await dialog.getByRole('radio', { name: 'Viewer' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('ArrowDown');
    await pressOn(page, dialog.getByRole('button', { name: 'Change role' }));
    await page.getByText(`The role of ${email} is now developer.`).waitFor();
    await focusedHeading(page, 'Members');

    await grace.goto(`${portalUrl}/apps/${id}`);
    await grace.getByText('You are a developer of this app. Only owners can rename').waitFor();
    assert.deepEqual(await buttonsOf(grace), []);
    await grace.goto(`${portalUrl}/apps/${id}/keys`);
    await button(grace, 'Create key').waitFor();
    await grace.getByRole('button', { name: 'Rotate Server' }).waitFor();
    await grace.goto(`${portalUrl}${hookPath}/test`);
    await button(grace, 'Send a test').waitFor();
    await grace.getByText('/token/s3cret').first().waitFor();
    await grace.goto(`${portalUrl}/apps`);
    await grace
      .getByRole('listitem')
      .filter({ hasText: 'Announcer' })
      .getByText('Developer')
      .waitFor();

    await grace.goto(`${portalUrl}/apps/${id}/members`);
    await button(grace, 'Leave').waitFor();
    assert.deepEqual(await buttonsOf(grace), ['Leave']);
    await pressOn(grace, button(grace, 'Leave'));
    const leave = grace.getByRole('dialog', { name: 'Leave Announcer' });
    await leave.getByRole('button', { name: 'Cancel' }).and(grace.locator(':focus')).waitFor();
    await pressOn(grace, leave.getByRole('button', { name: 'Leave app' }));
    await focusedHeading(grace, 'Apps');
    await grace.getByText('You left Announcer.').waitFor();
    await grace.getByText('You have no apps yet').waitFor();
    await grace.goto(`${portalUrl}/apps/${id}`);
    await grace.getByRole('alert').getByText('Not found', { exact: true }).waitFor();
  },
);

test(
  'somebody with an account comes to the invitation through sign-in, and another account does not',
  options,
  async () => {
    const bob = await signUp('bob@example.org');
    const carol = await signUp('carol@example.org');
    const { id } = await create(ada, '/apps', { name: 'Shared' });
    await create(ada, `/apps/${id}/invitations`, { email: bob.email, role: 'developer' });
    const link = await invitationLink(bob.email);

    const page = await portal.open({ as: carol, path: link });
    await page.getByText('This invitation is for bob@example.org.').waitFor();
    await page.getByText('You are signed in as carol@example.org.').waitFor();
    await assertAccessible(page, 'an invitation for another account');
    await button(page, 'Sign out and continue').click();
    await page.getByRole('link', { name: 'Sign in to answer' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, carol.email);
    await page.getByText('This invitation is not for this account, or it has ended').waitFor();
    await page.getByText('You are signed in as carol@example.org.').waitFor();
    assert.equal(await page.getByText(bob.email).count(), 0, 'without the link, no address');

    const own = await portal.open({ path: link });
    await own.getByRole('link', { name: 'Sign in to answer' }).click();
    await signIn(own, bob.email);
    await region(own, 'You are invited to Shared').waitFor();
    assert.equal(await own.getByText('This invitation is not for').count(), 0);
    await button(own, 'Accept the invitation to Shared').click();
    await focusedHeading(own, 'Shared');
    await own.getByText('You joined Shared.').waitFor();
    await own.getByText('You are a developer of this app.').waitFor();

    const late = await portal.open({ as: bob, path: link });
    await late.getByText("This invitation can't be used").waitFor();
    await late.reload();
    await late.getByText('Open the link again').waitFor();
  },
);

test(
  'several are invited one after another; an invitation is resent and declined, others revoked',
  options,
  async () => {
    const dan = await signUp('dan@example.org');
    const { id } = await create(ada, '/apps', { name: 'Unwanted' });
    await create(ada, `/apps/${id}/invitations`, { email: dan.email, role: 'viewer' });
    const first = await invitationLink(dan.email);
    const page = await portal.open({ as: ada, path: `/apps/${id}/members` });
    const address = page.getByLabel('Email address');
    const isTyped = Promise.withResolvers<void>();
    let isCut = true;
    await page.route('**/invitations', async (route) => {
      const isInvitation = route.request().method() === 'POST';
      if (isInvitation && isCut) return route.abort();
      if (isInvitation) await isTyped.promise;
      await route.continue();
    });
    await address.fill('eve@example.org');
    await page.keyboard.press('Enter');
    await page.getByText('look before you try again').waitFor();
    isCut = false;
    await address.press('Enter');
    await address.fill('next@example.org');
    isTyped.resolve();
    await page.getByText('We mailed an invitation to eve@example.org.').waitFor();
    assert.equal(await address.inputValue(), 'next@example.org');
    await page.keyboard.press('Enter');
    await page.getByText('We mailed an invitation to next@example.org.').waitFor();
    await drawn(page);
    assert.equal(await address.inputValue(), '');
    await button(page, `Resend the invitation of ${dan.email}`).click();
    await page.getByText(`We mailed an invitation to ${dan.email}.`).waitFor();
    const second = await eventually(async () => {
      const link = await invitationLink(dan.email);
      return link === first ? null : link;
    });
    const old = await portal.open({ as: dan, path: first });
    await old.getByText("This invitation can't be used").waitFor();

    const theirs = await portal.open({ as: dan, path: second });
    await button(theirs, 'Decline the invitation to Unwanted').click();
    const dialog = theirs.getByRole('dialog', { name: 'Decline the invitation to Unwanted' });
    await dialog.getByRole('button', { name: 'Decline' }).click();
    await theirs.getByText('You declined the invitation to Unwanted.').waitFor();
    await focusedHeading(theirs, 'Apps');
    await region(theirs, 'You are invited to Unwanted').waitFor({ state: 'detached' });

    await page.reload();
    await button(page, 'Revoke the invitation of eve@example.org').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke invitation' }).click();
    await button(page, 'Revoke the invitation of next@example.org').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke invitation' }).click();
    await page.getByText('No pending invitations.').waitFor();
    await focusedHeading(page, 'Invitations');
  },
);

test('the last owner cannot leave, and a member is removed', options, async () => {
  const frank = await signUp('frank@example.org');
  const { id } = await create(ada, '/apps', { name: 'Owned' });
  await addMember(id, frank, 'owner');
  await create(frank, `/apps/${id}/keys`, { name: 'Server', scopes: ['read:directory'] });
  const page = await portal.open({ as: ada, path: `/apps/${id}/members` });
  await button(page, 'Leave').waitFor();
  assert.equal((await frank.call(`/apps/${id}/membership`, { method: 'DELETE' })).status, 200);
  await button(page, 'Leave').click();
  const dialog = page.getByRole('dialog', { name: 'Leave Owned' });
  await dialog.getByRole('button', { name: 'Leave app' }).click();
  await dialog.getByRole('alert').getByText('An app needs an owner').waitFor();
  await page.reload();
  await page.getByText('To leave, first make another member an owner').waitFor();
  assert.equal(await button(page, 'Leave').count(), 0);

  await addMember(id, frank, 'viewer');
  await page.reload();
  await button(page, `Remove ${frank.email}`).click();
  const remove = page.getByRole('dialog', { name: `Remove ${frank.email}` });
  await remove.getByText('They can no longer see this app.').waitFor();
  await assertAccessible(page, 'the question before removing somebody');
  await remove.getByLabel('Also revoke the keys that they created or rotated').check();
  await remove.getByRole('button', { name: 'Remove member' }).click();
  await page.getByText(`${frank.email} is no longer a member. 1 key revoked.`).waitFor();
  await focusedHeading(page, 'Members');
  assert.equal((await frank.call(`/apps/${id}`)).status, 404);
});

test(
  'an owner wants no failure mails, and a transfer says what ends with it',
  options,
  async () => {
    const heidi = await signUp('heidi@example.org');
    const { id } = await create(ada, '/apps', { name: 'Handed over' });
    const page = await portal.open({ as: ada, path: `/apps/${id}/members` });
    await page.getByText('You are the only member. Invite the new owner first.').waitFor();
    const choice = page.getByRole('checkbox', { name: 'Mail me when a webhook' });
    assert.ok(await choice.isChecked());
    await tabTo(page, choice);
    await page.keyboard.press('Space');
    await page.getByText('You no longer get failure mails of this app.').waitFor();
    await choice.and(page.locator(':focus')).waitFor();
    assert.equal((await ada.call(`/apps/${id}`)).body.data.failureMails, false);
    await addMember(id, heidi, 'viewer');
    await bind(id);
    await create(ada, `/apps/${id}/invitations`, { email: 'ivan@example.org', role: 'viewer' });
    await page.reload();
    await page.getByText('Bound the app to Acme.').waitFor();
    assert.equal(await choice.isChecked(), false);
    await button(page, 'Transfer app').click();
    const dialog = page.getByRole('dialog', { name: 'Transfer Handed over' });
    await dialog
      .getByText(`${heidi.email} becomes an owner, and you become a developer.`)
      .waitFor();
    await dialog.getByText('The binding to Acme ends.').waitFor();
    await dialog.getByText('1 pending invitation can no longer be accepted.').waitFor();
    await assertAccessible(page, 'the question before a transfer');
    await dialog.getByRole('button', { name: 'Transfer app' }).click();
    await focusedHeading(page, 'Members of Handed over');
    await page.getByText('You are a developer of this app. Only owners can invite').waitFor();
    assert.equal(await region(page, 'Transfer this app').count(), 0);
    assert.equal((await heidi.call(`/apps/${id}`)).body.data.binding, null);
    const theirs = await portal.open({ as: heidi, path: `/apps/${id}/members` });
    await button(theirs, `Change role of ${ada.email}`).waitFor();
  },
);

test('a viewer reads no bodies of internal events, and learns who does', options, async () => {
  const judy = await signUp('judy@example.org');
  const { database } = portal.service;
  const receiver = await startReceiver((response) => response.writeHead(200).end('got hopper'));
  const { id } = await create(ada, '/apps', { name: 'Internal' });
  await bind(id);
  const hook = await create(ada, `/apps/${id}/webhooks`, { url: receiver.url });
  await addMember(id, judy, 'viewer');
  const data = {
    id: 'a-1',
    applicantHandle: 'hopper',
    submittedAt: '2026-11-21T12:00:00.000Z',
  };
  await database.transaction().execute((tx) =>
    publishEvent(tx, {
      name: 'application.created',
      org: 'acme',
      alliance: null,
      data,
      publicUrl: testPublicUrl,
    }),
  );
  const path = `/apps/${id}/webhooks/${hook.id}/deliveries`;
  const deliveryId = await eventually(async () => {
    const { body } = await ada.call(`${path}?status=succeeded`);
    return body.data[0]?.id;
  });
  const page = await portal.open({ as: judy, path: `${path}/${deliveryId}` });
  await page
    .getByText('Only owners and developers see its body and the responses to it.')
    .waitFor();
  await page.getByText("The response can't be shown to viewers.").waitFor();
  await page.getByText('You are a viewer of this app.').waitFor();
  assert.equal(await page.getByText('hopper').count(), 0);
  assert.equal(await button(page, 'Send again').count(), 0);
  const owner = await portal.open({ as: ada, path: `${path}/${deliveryId}` });
  await owner.getByText('hopper').first().waitFor();
});
