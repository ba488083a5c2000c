/** What the operator tells the users: announcements, maintenance, and why something is suspended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suspend, type SuspensionSubject } from '../../service/src/access/suspensions.ts';
import { announce } from '../../service/src/system/announcements.ts';
import { disableMaintenance, enableMaintenance } from '../../service/src/system/maintenance.ts';
import { suspendWebhooks } from '../../service/src/webhooks/management/suspend-webhooks.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { openPortal, password, portalUrl, signUp, visit } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const reason = 'Sends unwanted messages.';

const stop = (subject: Pick<SuspensionSubject, 'kind' | 'id'>) =>
  portal.service.database
    .transaction()
    .execute((tx) => suspend(tx, testActor, { ...subject, appId: null, details: {} }, reason));

const stopWebhooks = (subject: { kind: 'webhook' | 'app'; id: string }) =>
  portal.service.database
    .transaction()
    .execute((tx) => suspendWebhooks(tx, testActor, subject, reason));

test('maintenance is told on every page, also on one that is open', options, async () => {
  const { service } = portal;
  const poll = async (isOn: boolean) => {
    await eventually(async () => {
      const { body } = await service.call('/status', { key: null });
      return (body.data.maintenance !== null) === isOn;
    });
    await page.clock.fastForward(10_000);
  };
  const page = await portal.open({ as: ada, isNew: true, url: 'about:blank' });
  await page.clock.install();
  await page.goto(`${portalUrl}/apps`);
  await page.getByRole('heading', { name: 'You have no apps yet' }).waitFor();
  const expectedEnd = new Date(Date.now() + 3_600_000);
  await enableMaintenance(service.database, testActor, { message: 'Moving house.', expectedEnd });
  await poll(true);
  const banner = page.getByText('Maintenance: your apps cannot be changed right now');
  await banner.waitFor();
  await page.getByText('Moving house.').waitFor();
  await assertAccessible(page, 'the maintenance banner');
  const signedOut = await portal.open({ path: '/sign-in' });
  await signedOut.getByText('Moving house.').waitFor();
  await assertAccessible(signedOut, 'the sign-in during maintenance');
  await signedOut.getByLabel('Email address').fill(ada.email);
  await signedOut.getByLabel('Password', { exact: true }).fill(password);
  await signedOut.keyboard.press('Enter');
  await signedOut.getByRole('heading', { name: 'Overview' }).waitFor();
  await disableMaintenance(service.database, testActor);
  await poll(false);
  await banner.waitFor({ state: 'detached' });
});

test(
  'what is suspended says why, without the buttons that are refused: a key, a webhook, an app',
  options,
  async () => {
    const { id: appId } = await create(ada, '/apps', { name: 'Herald' });
    const key = { name: 'Server', scopes: ['read:directory'] };
    await stop({ kind: 'key', id: (await create(ada, `/apps/${appId}/keys`, key)).id });
    const page = await portal.open({ as: ada, path: `/apps/${appId}/keys` });
    const entry = page.getByRole('listitem').filter({ hasText: 'Server' });
    await entry.getByText(reason).waitFor();
    assert.equal(await entry.getByRole('button', { name: /^Rotate/ }).count(), 0);
    assert.equal(await entry.getByRole('button', { name: /^Revoke/ }).count(), 1);

    const { id } = await create(ada, `/apps/${appId}/webhooks`, { url: 'https://example.org/' });
    await stopWebhooks({ kind: 'webhook', id });
    await visit(page, `${portalUrl}/apps/${appId}/webhooks/${id}/deliveries`);
    const ofWebhook = page.getByRole('note').filter({ hasText: 'The webhook is suspended' });
    assert.match(await ofWebhook.innerText(), new RegExp(reason));
    assert.equal(await page.getByRole('button', { name: 'Reactivate' }).count(), 0);
    await assertAccessible(page, 'a suspended webhook');
    await visit(page, portalUrl);
    await page.getByText(`suspended by the operator, ${reason}`).waitFor();

    await stopWebhooks({ kind: 'app', id: appId });
    await page.goto(`${portalUrl}/apps/${appId}`);
    const ofApp = page.getByRole('note').filter({ hasText: 'The app is suspended' });
    assert.match(await ofApp.innerText(), new RegExp(reason));
    const changes = page.locator('#content').getByRole('button', { name: /Delete app|Save name/ });
    assert.equal(await changes.count(), 0);
    await assertAccessible(page, 'a suspended app');
  },
);

test(
  'a suspended account shows why in the place of every page, and signs out',
  options,
  async () => {
    const bob = await signUp(portal.service, 'bob@example.org');
    const { body } = await bob.call('/session');
    await stop({ kind: 'account', id: body.data.user.id });
    const page = await portal.open({ as: bob, path: '/account' });
    await page.getByRole('heading', { name: 'Account suspended' }).waitFor();
    await page.getByText(reason).waitFor();
    await assertAccessible(page, 'a suspended account');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  },
);

test(
  'an announcement is on every page, before the sign-in too, and by mail for who wants it',
  options,
  async () => {
    const announcement = {
      severity: 'warning',
      text: 'The directory moves to a larger machine.',
      startsAt: new Date('2099-01-31T20:00:00Z'),
      endsAt: null,
    } as const;
    await portal.service.database
      .transaction()
      .execute((tx) => announce(tx, testActor, announcement, { mailed: false }));
    await portal.service.settled();
    const page = await portal.open({ as: ada, path: '/account' });
    for (const each of [page, await portal.open()]) {
      const shown = each.getByRole('status').filter({ hasText: announcement.text });
      await shown.getByText('Warning').waitFor();
      assert.match(await shown.innerText(), /From .*2099/);
    }
    await assertAccessible(page, 'an announcement');
    const box = page.getByRole('checkbox', { name: 'Mail me announcements while I own an app' });
    assert.equal(await box.isChecked(), true);
    await box.focus();
    await page.keyboard.press('Space');
    await page.getByText('You no longer get announcements by mail.').waitFor();
    await page.reload();
    await box.waitFor();
    assert.equal(await box.isChecked(), false);
  },
);
