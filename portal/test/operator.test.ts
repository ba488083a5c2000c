/** The console: what operators see, by keyboard and with axe, and that nobody else finds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { setOperator, type Operator } from '../../service/src/sign-in/operators.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { codeOf } from '../../service/test/support/authenticator.ts';
import { put } from '../../service/test/support/directory.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import {
  arrival,
  comeBack,
  drawn,
  openPortal,
  signUp,
  switchCookies,
  visit,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const operator = noBrowser ? null! : await signUpOperator('operator@example.org', 'operator');
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const url = `${testPublicUrl}/profile/operator`;

if (!noBrowser) {
  const app = await create(ada, '/apps', { name: 'Announcer' });
  await create(ada, `/apps/${app.id}/keys`, { name: 'Sample key', scopes: ['read:directory'] });
  await put(portal.service.database, 'orgs', [{ slug: 'acme', name: 'Acme Corporation' }]);
  await create(ada, `/apps/${app.id}/webhooks`, { url: 'https://hooks.example.org/secret-path' });
}

async function signUpOperator(account: string, role: Operator['role']): Promise<Person> {
  const person = await signUp(portal.service, account);
  const { secret } = await create(person, '/account/authenticator', {});
  await create(person, '/account/authenticator/confirm', { code: codeOf(secret) });
  await portal.service.database
    .transaction()
    .execute((tx) => setOperator(tx, testActor, { account, role }));
  return person;
}

test(
  'a read-only operator goes through the pages, and each can be read and used by everybody',
  options,
  async () => {
    const reader = await signUpOperator('reader@example.org', 'read-only');
    const page = await portal.open({ as: reader, url });
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    assert.match(await page.title(), /^Overview · .* console$/);
    await page.getByRole('region', { name: 'What waits' }).getByText('Set aside').waitFor();
    await page.getByRole('rowheader', { name: 'Migrations' }).waitFor();
    await assertAccessible(page, 'overview of the console');
    const navigation = page.getByRole('navigation', { name: 'Main' });
    for (const [link, shown] of [
      ['Apps', 'Announcer'],
      ['Accounts', 'ada@example.org'],
      ['Keys', 'Sample key'],
      ['Webhooks', 'hooks.example.org'],
      ['Deliveries', 'Nothing matches.'],
      ['Set aside', 'Nothing was rejected or set aside.'],
      ['Directory', 'Acme Corporation'],
      ['Syncs', 'No sync has run yet.'],
      ['Notices', 'Maintenance is off.'],
      ['Audit log', 'operator.added'],
      ['Usage', 'Nothing was used on these days.'],
      ['Settings', 'RETENTION_DAYS'],
    ] as const) {
      await navigation.getByRole('link', { name: link, exact: true }).click();
      await page.getByRole('heading', { name: link, level: 1 }).waitFor();
      await page.getByRole('main').getByText(shown).first().waitFor();
      await assertAccessible(page, `${link} of the console`);
      assert.doesNotMatch(await page.content(), /secret-path/);
    }
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
    await page.waitForURL(/\?search=announcer$/);
    await visit(page, `${url}/audit?before=nothing`);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('rowheader').first().waitFor();
    await page.locator('h1:focus').waitFor();
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
    const page = await portal.open({ as: operator, url: `${url}/apps` });
    await page.getByRole('button', { name: 'Suspend Announcer' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Suspend Announcer' });
    await dialog.getByRole('textbox', { name: 'Reason' }).waitFor();
    await assertAccessible(page, 'suspending an app');
    await page.keyboard.type('Sends unwanted messages.');
    await page.keyboard.press('Enter');
    await page.getByText('Suspended: Sends unwanted messages.').waitFor();
    await page.locator('h1:focus').waitFor();
    await visit(page, `${url}/webhooks`);
    await page.getByRole('link', { name: 'Its app is suspended' }).click();
    await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Restore Announcer' }).click();
    await page.getByRole('dialog').getByRole('checkbox').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByRole('button', { name: 'Suspend Announcer' }).waitFor();
    await page.locator('h1:focus').waitFor();
    await page.getByRole('button', { name: 'Your account' }).click();
    const link = page.getByRole('menuitem', { name: 'Developer portal' });
    assert.equal(await link.getAttribute('href'), '/profile/developer');
  },
);

test('quotas of an app are seen and changed in a dialog', options, async () => {
  const page = await portal.open({ as: operator, url: `${url}/apps` });
  await page.getByRole('button', { name: 'Quotas of Announcer' }).click();
  const dialog = page.getByRole('dialog', { name: 'Quotas of Announcer' });
  const webhooks = dialog.getByRole('textbox', { name: 'Webhooks' });
  await webhooks.fill('30');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The quotas of Announcer are changed.').waitFor();
  await page.getByRole('button', { name: 'Quotas of Announcer' }).click();
  assert.equal(await webhooks.inputValue(), '30');
  await webhooks.fill('200');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').getByText('webhooks: must be <= 100').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // What somebody else changes meanwhile stays.
  const [app] = (await operator.call('/operator/apps?search=Announcer')).body.data;
  const path = `/operator/apps/${app.id}/quotas`;
  await page.getByRole('button', { name: 'Quotas of Announcer' }).click();
  await dialog.getByRole('textbox', { name: 'Keys' }).waitFor();
  await operator.call(path, { method: 'PATCH', json: { webhooks: 40 } });
  await comeBack(page);
  await dialog.getByRole('textbox', { name: 'Keys' }).fill('7');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const limits = (await operator.call(path)).body.data.map(({ limit }: any) => limit);
  assert.deepEqual(limits, [null, 40, 7, 50]);
});

test('a URL is shown for a reason, and the audit log has who saw it', options, async () => {
  const channel = 'https://hooks.slack.com/services/T0/B0/secret';
  const json = { url: channel, format: 'slack', events: ['org.created'] };
  const { body: made } = await portal.service.call('/webhooks', { method: 'POST', json });
  const page = await portal.open({ as: operator, url: `${url}/webhooks` });
  const ofChannel = page.getByRole('row', { name: /hooks\.slack\.com/ });
  await ofChannel.getByRole('link', { name: 'Deliveries' }).waitFor();
  assert.equal(await ofChannel.getByRole('button', { name: /Show URL/ }).count(), 0);
  await portal.service.call(`/webhooks/${made.data.id}`, { method: 'DELETE' });
  await page.getByRole('button', { name: 'Show URL of hooks.example.org' }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill('Its owner asks.');
  await page.keyboard.press('Enter');
  await page.getByText('https://hooks.example.org/secret-path').waitFor();
  await visit(page, `${url}/audit?action=webhook.url_revealed`);
  const row = page.getByRole('row', { name: /webhook\.url_revealed/ });
  await row.getByText('operator@example.org (console)').waitFor();
  await row.getByText('Details').click();
  await row.getByText('Its owner asks.').waitFor();
});

test('what was set aside is retried and dropped', options, async () => {
  const { database } = portal.service;
  const setAside = (reason: string) =>
    sql`
      insert into published_events (id, name, org_id, data, created_at, rejected_at, reason)
      values (uuid_v7(), 'event.of_a_later_version', uuid_v7(), '{}', now(), now(), ${reason})
    `.execute(database);
  for (const reason of ['one fault', 'a third fault', 'another fault']) await setAside(reason);
  const page = await portal.open({ as: operator, isNew: true, url: 'about:blank' });
  await page.clock.install();
  await page.goto(url);
  const waits = page.getByRole('region', { name: 'What waits' });
  await waits.getByRole('link', { name: '3' }).click();
  const row = page.getByRole('row', { name: /another fault/ });
  await row.getByRole('button', { name: /^Retry/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await page.getByText('1 row retried.').waitFor();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Drop these 2 rows' }).click();
  // Nobody has agreed to lose what comes now.
  await setAside('a new fault');
  await page.clock.fastForward(10_000);
  await comeBack(page, 'before');
  await page.getByRole('row', { name: /a new fault/, includeHidden: true }).waitFor();
  const dialog = page.getByRole('dialog', { name: 'Drop these 2 rows?' });
  await dialog.getByRole('button', { name: 'Drop' }).click();
  await page.getByText('2 rows dropped.').waitFor();
  const fresh = page.getByRole('row', { name: /a new fault/ });
  await fresh.getByRole('button', { name: /^Drop/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
  await page.getByText('Nothing was rejected or set aside.').waitFor();
});

test(
  'maintenance is turned on and off, and an announcement is made and ended',
  options,
  async () => {
    const page = await portal.open({ as: operator, url: `${url}/notices`, timezoneId: 'UTC' });
    await page.getByRole('textbox', { name: 'Message' }).fill('Moving.');
    const endField = page.getByLabel('Expected end');
    await endField.fill('20300-01-02T10:00');
    await page.getByText('Choose a year of four digits.').waitFor();
    await endField.fill('');
    await endField.focus();
    // The year ends after four digits, and the hour follows.
    await page.keyboard.type('010220301000AM');
    assert.equal(await endField.inputValue(), '2030-01-02T10:00');
    const end = new Date(Math.ceil(Date.now() / 60_000) * 60_000).toISOString();
    await endField.fill(end.slice(0, 16));
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click();
    await page.getByText('Maintenance has been on since').waitFor();
    const { body } = await operator.call('/operator/maintenance');
    assert.equal(body.data.expectedEnd, end);
    await page.getByRole('textbox', { name: 'Text' }).fill('We move.');
    await page.getByRole('button', { name: 'Announce', exact: true }).click();
    await page.getByRole('rowheader', { name: 'We move.' }).waitFor();
    await assertAccessible(page, 'notices');
    await page.getByRole('button', { name: 'End We move.' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
    await page.getByText('Nothing is announced.').waitFor();
    await page.getByRole('button', { name: 'Turn off' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
    await page.getByText('Maintenance is off.').first().waitFor();
  },
);

test('what was typed and not sent outlasts its session', options, async () => {
  const page = await portal.open({ as: operator, url: `${url}/apps` });
  const isThereAgain = async (typed: Locator, text: string) => {
    await typed.fill(text);
    await page.context().clearCookies();
    await comeBack(page);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await switchCookies(page, operator);
    await comeBack(page);
    await typed.waitFor();
    assert.equal(await typed.inputValue(), text);
  };
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Quotas of Announcer' }).click();
  await isThereAgain(dialog.getByRole('textbox', { name: 'Keys' }), '8');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Suspend Announcer' }).click();
  await isThereAgain(dialog.getByRole('textbox', { name: 'Reason' }), 'Sends unwanted messages.');
  await page.goto(`${url}/notices`);
  await isThereAgain(page.getByRole('textbox', { name: 'Message' }), 'Moving.');
  await page.reload();
  const field = page.getByRole('textbox', { name: 'Text' });
  await field.fill('Written at length.');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Announce', exact: true }).click();
  const ended = page.getByRole('heading', { name: 'Your session has ended' });
  await ended.waitFor();
  // Half of the way back: the other window asks for the second factor.
  await switchCookies(page, operator);
  const { body: json } = await operator.call('/session');
  json.data.missingFactor = 'confirm';
  await page.route('**/portal/api/session', (route) => route.fulfill({ json }));
  const read = arrival(page, (request) => request.url().endsWith('/portal/api/session'));
  await comeBack(page);
  await read;
  await drawn(page);
  assert.ok(await ended.isVisible());
  await page.unroute('**/portal/api/session');
  await comeBack(page);
  await field.waitFor();
  assert.equal(await field.inputValue(), 'Written at length.');
  // The other order: it asks before this one has noticed the end.
  await page.route('**/portal/api/session', (route) => route.fulfill({ json }));
  await comeBack(page);
  await ended.waitFor();
  await page.unroute('**/portal/api/session');
  await comeBack(page);
  await field.waitFor();
  assert.equal(await field.inputValue(), 'Written at length.');
  await page.getByRole('link', { name: 'Syncs' }).click();
  await page.getByRole('dialog', { name: 'Leave without saving your changes?' }).waitFor();
});

test(
  'a sync that cannot run says why, and whoever is no operator sees nothing',
  options,
  async () => {
    const page = await portal.open({ as: operator, url: `${url}/syncs` });
    await page.getByRole('button', { name: 'Run now: Blueprints' }).click();
    await page.getByText('Set SYNC_BLUEPRINTS_URL.').waitFor();
    await switchCookies(page, ada);
    await page.goto(url);
    await page.getByRole('alert').first().waitFor();
    assert.doesNotMatch(await page.content(), /Deliveries of 24 hours/);
  },
);
