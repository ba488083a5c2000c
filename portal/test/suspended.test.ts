/** What owners see of a suspended key, webhook, app and account. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suspend, type SuspensionSubject } from '../../service/src/access/suspensions.ts';
import { suspendWebhooks } from '../../service/src/webhooks/management/suspend-webhooks.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const reason = 'Sends unwanted messages.';

async function post(path: string, json: object) {
  const { status, body } = await ada.call(path, { method: 'POST', json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data.id as string;
}

const stop = (subject: Pick<SuspensionSubject, 'kind' | 'id'>) =>
  portal.service.database
    .transaction()
    .execute((tx) => suspend(tx, testActor, { ...subject, appId: null, details: {} }, reason));

test(
  'a suspended key and a suspended webhook show why, without the buttons that are refused',
  options,
  async () => {
    const appId = await post('/apps', { name: 'Herald' });
    const key = { name: 'Server', scopes: ['read:directory'] };
    await stop({ kind: 'key', id: await post(`/apps/${appId}/keys`, key) });
    const page = await portal.open({ as: ada, path: `/apps/${appId}/keys` });
    const entry = page.getByRole('listitem').filter({ hasText: 'Server' });
    await entry.getByText(reason).waitFor();
    assert.equal(await entry.getByRole('button', { name: /^Rotate/ }).count(), 0);
    assert.equal(await entry.getByRole('button', { name: /^Revoke/ }).count(), 1);

    const id = await post(`/apps/${appId}/webhooks`, { url: 'https://example.org/' });
    await portal.service.database
      .transaction()
      .execute((tx) => suspendWebhooks(tx, testActor, { kind: 'webhook', id }, reason));
    const opened = await portal.open({ as: ada, path: `/apps/${appId}/webhooks/${id}/deliveries` });
    const alert = opened.getByRole('note').filter({ hasText: 'The webhook is suspended' });
    assert.match(await alert.innerText(), new RegExp(reason));
    assert.equal(await opened.getByRole('button', { name: 'Reactivate' }).count(), 0);
    await assertAccessible(opened, 'a suspended webhook');
    await opened.goto(opened.url().replace(/\/apps\/.*/, ''));
    await opened.getByText(`suspended by the operator, ${reason}`).waitFor();
  },
);

test('a suspended app shows why, and offers no changes', options, async () => {
  const id = await post('/apps', { name: 'Stopped' });
  const page = await portal.open({ as: ada, path: `/apps/${id}` });
  await page.getByRole('button', { name: 'Delete app' }).waitFor();
  await portal.service.database
    .transaction()
    .execute((tx) => suspendWebhooks(tx, testActor, { kind: 'app', id }, reason));
  await page.reload();
  const alert = page.getByRole('note').filter({ hasText: 'The app is suspended' });
  assert.match(await alert.innerText(), new RegExp(reason));
  assert.equal(
    await page
      .locator('#content')
      .getByRole('button', { name: /Delete app|Save name/ })
      .count(),
    0,
  );
  await assertAccessible(page, 'a suspended app');
});

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
