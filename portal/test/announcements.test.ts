/** Announcements in the portal, signed in and out, and the choice to get them by mail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announce } from '../../service/src/system/announcements.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

test('an announcement is on every page, before the sign-in too', options, async () => {
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
  for (const page of [await portal.open({ as: ada, path: '/apps' }), await portal.open()]) {
    const shown = page.getByRole('status').filter({ hasText: announcement.text });
    await shown.getByText('Warning').waitFor();
    assert.match(await shown.innerText(), /From .*2099/);
    await assertAccessible(page, 'an announcement');
  }
});

test('whether announcements come by mail is chosen in the account, and kept', options, async () => {
  const page = await portal.open({ as: ada, path: '/account' });
  const box = page.getByRole('checkbox', { name: 'Mail me announcements while I own an app' });
  assert.equal(await box.isChecked(), true);
  await box.focus();
  await page.keyboard.press('Space');
  await page.getByText('You no longer get announcements by mail.').waitFor();
  await page.reload();
  await box.waitFor();
  assert.equal(await box.isChecked(), false);
});
