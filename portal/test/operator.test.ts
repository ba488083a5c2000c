/** The console: what operators see, by keyboard and with axe, and that nobody else finds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setOperator } from '../../service/src/sign-in/operators.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { codeOf } from '../../service/test/support/authenticator.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible, assertReadable } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const operator = noBrowser ? null! : await signUp(portal.service, 'operator@example.org');
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const url = `${testPublicUrl}/profile/operator`;

if (!noBrowser) {
  const app = await create(ada, '/apps', { name: 'Announcer' });
  await create(ada, `/apps/${app.id}/webhooks`, { url: 'https://hooks.example.org/secret-path' });
  const { secret } = await create(operator, '/account/authenticator', {});
  await create(operator, '/account/authenticator/confirm', { code: codeOf(secret) });
  await portal.service.database
    .transaction()
    .execute((tx) =>
      setOperator(tx, testActor, { account: 'operator@example.org', role: 'read-only' }),
    );
}

test(
  'an operator goes through the pages, and each can be read and used by everybody',
  options,
  async () => {
    const page = await portal.open({ as: operator, url });
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    assert.match(await page.title(), /^Overview · .* console$/);
    await page.getByRole('region', { name: 'What waits' }).getByText('Set aside').waitFor();
    await assertAccessible(page, 'overview of the console');
    const navigation = page.getByRole('navigation', { name: 'Main' });
    for (const [link, shown] of [
      ['Apps', 'Announcer'],
      ['Accounts', 'ada@example.org'],
      ['Webhooks', 'hooks.example.org'],
      ['Usage', 'Nothing was used on these days.'],
      ['Settings', 'RETENTION_DAYS'],
    ] as const) {
      await navigation.getByRole('link', { name: link, exact: true }).click();
      await page.getByRole('heading', { name: link, level: 1 }).waitFor();
      await page.getByRole('main').getByText(shown).first().waitFor();
      await assertAccessible(page, `${link} of the console`);
      assert.doesNotMatch(await page.content(), /secret-path/);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await assertReadable(page, 'settings of the console on a phone');
  },
);

test(
  'a search and a filter stay in the address, and a number of the overview leads to its list',
  options,
  async () => {
    const page = await portal.open({ as: operator, url: `${url}/apps?search=nothing` });
    await page.getByText('No app matches.').waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('searchbox').pressSequentially('announcer');
    await page.getByRole('rowheader', { name: 'Announcer' }).waitFor();
    assert.equal(await page.getByRole('searchbox').inputValue(), 'announcer');
    assert.match(page.url(), /\?search=announcer$/);
    await page.goto(url);
    await page.getByRole('region', { name: 'Webhooks' }).getByRole('link', { name: '1' }).click();
    await page.getByRole('rowheader', { name: 'hooks.example.org' }).waitFor();
    assert.match(page.url(), /\/webhooks\?health=new$/);
  },
);

test(
  'an operator suspends an app with a reason and restores it, by keyboard',
  options,
  async () => {
    const { database } = portal.service;
    await database
      .transaction()
      .execute((tx) =>
        setOperator(tx, testActor, { account: 'operator@example.org', role: 'operator' }),
      );
    const page = await portal.open({ as: operator, url: `${url}/apps` });
    await page.getByRole('button', { name: 'Suspend Announcer' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Suspend Announcer' });
    await dialog.getByRole('textbox', { name: 'Reason' }).waitFor();
    await assertAccessible(page, 'suspending an app');
    await page.keyboard.type('Sends unwanted messages.');
    await page.keyboard.press('Enter');
    await page.getByText('Suspended: Sends unwanted messages.').waitFor();
    await page.getByRole('button', { name: 'Restore Announcer' }).click();
    await page.getByRole('dialog').getByRole('checkbox').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByRole('button', { name: 'Suspend Announcer' }).waitFor();
    await page.getByRole('button', { name: 'Your account' }).click();
    const link = page.getByRole('menuitem', { name: 'Developer portal' });
    assert.equal(await link.getAttribute('href'), '/profile/developer');
  },
);

test('whoever is no operator gets nothing in the console', options, async () => {
  const page = await portal.open({ as: ada, url });
  await page.getByRole('alert').first().waitFor();
  assert.doesNotMatch(await page.content(), /Deliveries of 24 hours/);
});
