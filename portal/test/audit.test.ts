import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditActions } from '../../service/src/access/audit-log.ts';
import { removeManager } from '../../service/src/access/managers.ts';
import { put } from '../../service/test/support/directory.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { describeEntry } from '../src/audit/describe-entry.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { openPortal, portalUrl, signUp, visit } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

const operator = { kind: 'cli', id: null, name: 'root' } as const;

const entry = (action: string, fields: object = {}) => ({
  action,
  actor: { kind: 'user' as const, name: 'ada@example.org', isYou: true },
  subject: { kind: 'webhook', id: null, name: null },
  details: {},
  ...fields,
});

test('there are words for every action on an app that the service records', () => {
  const ofApps = auditActions.filter((each) => !/^(account|operator|signup)\./.test(each));
  for (const action of ofApps) {
    const { who, did } = describeEntry(entry(action));
    assert.equal(who, 'You');
    assert.ok(!did.includes(action) && !did.startsWith('made a change'), `${action}: ${did}`);
    assert.ok(!/undefined|null|\[object/.test(did), did);
  }
});

test('an action of a later version gets a generic sentence', () => {
  assert.equal(describeEntry(entry('key.put_away')).did, 'made a change: key put away');
});

test('whoever did it is named, but for those who are not to be', () => {
  const who = (kind: 'key' | 'user' | 'cli' | 'system', name: string | null, isYou = false) =>
    describeEntry(entry('app.changed', { actor: { kind, name, isYou } })).who;
  assert.deepEqual(
    [who('user', 'ada@example.org', true), who('user', 'bob@example.org'), who('key', 'Server')],
    ['You', 'bob@example.org', 'The key “Server”'],
  );
  assert.deepEqual(
    [who('user', null), who('key', null)],
    ['Another user', 'The operator of this service'],
  );
  assert.equal(who('cli', null), 'The operator of this service');
  assert.equal(who('system', null), 'The service');
});

test('a webhook that the service deactivated says why, and one that its owner deactivated does not', () => {
  const sentence = (kind: 'system' | 'user', reason?: string) => {
    const isYou = kind === 'user';
    const actor = { kind, name: isYou ? 'ada@example.org' : null, isYou };
    const subject = { kind: 'webhook', id: null, name: reason ? 'example.org' : null };
    const fields = { actor, subject, details: { reason } };
    const { who, did } = describeEntry(entry('webhook.deactivated', fields));
    return `${who} ${did}`;
  };
  assert.deepEqual(
    [
      sentence('system', 'failing'),
      sentence('system', 'gone'),
      sentence('user', 'owner'),
      sentence('user'),
    ],
    [
      'The service deactivated the webhook at example.org because deliveries kept failing',
      'The service deactivated the webhook at example.org because its server responded with 410 Gone, or its chat channel was deleted',
      'You deactivated the webhook at example.org',
      'You deactivated a webhook',
    ],
  );
});

test('an empty log says what will appear here', options, async () => {
  const bob = await signUp(portal.service, 'bob@example.org');
  const page = await portal.open({ as: bob, path: '/audit' });
  await page.getByText('No entries yet').waitFor();
  await page.getByRole('link', { name: 'Create an app' }).click();
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor();
});

test('it describes changes made here, with a key and by the operator', options, async () => {
  const { service } = portal;
  await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme', managers: [ada.email] }]);
  const app = await create(ada, '/apps', { name: 'Announcer' });
  await create(ada, '/apps', { name: 'Another' });
  const { key } = await create(ada, `/apps/${app.id}/keys`, {
    name: 'Server',
    scopes: ['write:webhooks'],
  });
  const { url } = await startReceiver();
  const made = await service.call('/webhooks', { method: 'POST', key, json: { url } });
  await ada.call(`/apps/${app.id}/webhooks/${made.body.data.id}`, {
    method: 'PATCH',
    json: { description: 'Bot', events: ['org.created'] },
  });
  const bound = await ada.call(`/apps/${app.id}/binding`, {
    method: 'PUT',
    json: { kind: 'organization', slug: 'acme' },
  });
  const { id } = bound.body.data.binding;
  await service.database
    .transaction()
    .execute((tx) => removeManager(tx, operator, { kind: 'organization', id }, ada.email));

  const page = await portal.open({ as: ada, path: '/audit' });
  const list = page.getByRole('list', { name: 'Audit log' });
  await list.waitFor();
  const { host } = new URL(url);
  assert.deepEqual(await list.getByRole('listitem').locator('> p').allInnerTexts(), [
    'The operator of this service ended the binding to the organisation acme: the owner who made it is no longer one of its managers',
    'You bound the app to the organisation acme',
    `You changed the events and the description of the webhook at ${host}`,
    `The key “Server” created the webhook at ${host}`,
    'You created the key “Server”',
    'You created the app “Another”',
    'You created the app “Announcer”',
  ]);
  const details = list.getByRole('listitem').filter({ hasText: 'You created the key' });
  await details.getByText('Details').press('Enter');
  await details.getByText('write:webhooks').waitFor();
  await assertAccessible(page, 'the audit log, one entry unfolded');

  await page.getByRole('combobox', { name: 'App' }).selectOption('Another');
  await list.getByText('Announcer').first().waitFor({ state: 'detached' });
  assert.equal(await list.getByRole('listitem').count(), 1);
  assert.match(page.url(), /\/audit\?app=[0-9a-f-]{36}$/);
  await page.reload();
  await list.waitFor();
  assert.equal(await list.getByRole('listitem').count(), 1);
  await page.getByRole('link', { name: 'Another' }).click();
  await page.getByRole('heading', { name: 'Another', level: 1 }).waitFor();
});

test(
  'a deleted app keeps its entries, under its name, and can be filtered for',
  options,
  async () => {
    const eve = await signUp(portal.service, 'eve@example.org');
    const { id } = await create(eve, '/apps', { name: 'Herald' });
    await create(eve, '/apps', { name: 'Kept' });
    await create(eve, `/apps/${id}/keys`, { name: 'Server', scopes: ['read:events'] });
    const deleted = await eve.call(`/apps/${id}`, { method: 'DELETE' });
    assert.equal(deleted.status, 200);

    const page = await portal.open({ as: eve, path: '/audit' });
    const list = page.getByRole('list', { name: 'Audit log' });
    await list.getByRole('listitem').nth(3).waitFor();
    const sentences = () => list.getByRole('listitem').locator('> p').allInnerTexts();
    const ofHerald = [
      'You deleted the app “Herald”',
      'You created the key “Server”',
      'You created the app “Herald”',
    ];
    assert.deepEqual(await sentences(), [
      ...ofHerald.slice(0, 2),
      'You created the app “Kept”',
      ...ofHerald.slice(2),
    ]);
    await page.getByRole('link', { name: 'Herald (deleted)' }).first().click();
    await list.getByText('Kept').first().waitFor({ state: 'detached' });
    assert.ok(page.url().endsWith(`/audit?app=${id}`));
    assert.deepEqual(await sentences(), ofHerald);
    const filter = page.getByRole('combobox', { name: 'App' });
    assert.equal(await filter.locator('option:checked').textContent(), 'Herald (deleted)');
  },
);

test('an app is not called foreign while nobody knows, and why is said', options, async () => {
  const dan = await signUp(portal.service, 'dan@example.org');
  const { id } = await create(dan, '/apps', { name: 'Announcer' });
  const page = await portal.open({ as: dan });
  const held = Promise.withResolvers<void>();
  const apps = '**/portal/api/apps';
  await page.route(apps, async (route) => {
    await held.promise;
    const error = { code: 'rate_limited', message: 'Too many.', details: {} };
    await route.fulfill({ status: 429, json: { success: false, error } });
  });
  await page.goto(`${portalUrl}/audit?app=${id}`);
  await page.getByText('You created the app “Announcer”').waitFor();
  const filter = page.getByRole('combobox', { name: 'App' });
  assert.equal(await filter.locator('option:checked').textContent(), 'Loading');
  held.resolve();
  await page.getByRole('alert').filter({ hasText: 'Too many requests' }).waitFor();
  await page.unroute(apps);
  await page.getByRole('button', { name: 'Try again' }).click();
  const chosen = filter.locator('option:checked', { hasText: 'Announcer' });
  await chosen.waitFor({ state: 'attached' });
});

test('a long log is read page by page, and the page stands in the address', options, async () => {
  const carol = await signUp(portal.service, 'carol@example.org');
  const { id } = await create(carol, '/apps', { name: 'Busy 0' });
  for (let index = 1; index <= 30; index += 1)
    await carol.call(`/apps/${id}`, { method: 'PATCH', json: { name: `Busy ${index}` } });
  const page = await portal.open({ as: carol, path: `/audit?app=${id}&page=2` });
  await page.getByText('26–31 of 31').waitFor();
  await page.getByText('created the app “Busy 0”').waitFor();
  await page.getByRole('button', { name: 'Page 1' }).click();
  await page.getByText('renamed the app from “Busy 29” to “Busy 30”').waitFor();
  assert.equal(page.url(), `${portalUrl}/audit?app=${id}`);
  const focus = page.locator(':focus');
  await page.getByRole('region', { name: 'Audit log, page 1' }).and(focus).waitFor();
  await visit(page, `${portalUrl}/audit?page=9`);
  await page.getByText('This page is past the last one').waitFor();
  await page.getByRole('button', { name: 'Go to the first page' }).click();
  await page.getByText('1–25 of 31').waitFor();
  await page.getByRole('region', { name: 'Audit log, page 1' }).and(focus).waitFor();
});
