import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { changeQuotas } from '../../service/src/access/quotas.ts';
import { sql } from '../../service/src/database/database.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { put } from '../../service/test/support/directory.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import {
  loseResponse,
  openPortal,
  portalUrl,
  signUp,
  type Person,
} from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
if (!noBrowser) await put(portal.service.database, 'orgs', [{ name: 'Acme' }, { name: 'Zenith' }]);

async function openKeys(person: Person, appId: string): Promise<Page> {
  const page = await portal.open({ as: person, path: `/apps/${appId}/keys` });
  await page.getByRole('heading', { name: /^Keys of/, level: 1 }).waitFor();
  return page;
}

/** Runs curl with the public address replaced by that of the service under test. */
async function startShell(): Promise<(command: string) => Promise<{ status: number; body: any }>> {
  const home = await mkdtemp(join(tmpdir(), 'orgdir-curl-'));
  after(() => rm(home, { recursive: true }));
  const { host } = new URL(portal.service.url);
  const lines = [
    `connect-to = "${new URL(testPublicUrl).host}:80:${host}"`,
    'write-out = "\\n%{http_code}"',
    'silent',
  ];
  await writeFile(join(home, '.curlrc'), `${lines.join('\n')}\n`);
  const env = { PATH: process.env['PATH'], HOME: home, CURL_HOME: home };
  return async (command) => {
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env, timeout: 120_000 });
    const [body = '', status] = stdout.split(/\n(?=\d+$)/);
    return { status: Number(status), body: JSON.parse(body) };
  };
}
const run = noBrowser ? null! : await startShell();

function commandOn(page: Page): Promise<string> {
  return page.getByRole('region', { name: 'Call the API with it' }).innerText();
}

function entryOf(page: Page, name: string): Locator {
  return page.getByRole('list', { name: 'Keys' }).getByRole('listitem').filter({ hasText: name });
}

function button(page: Page, name: string): Locator {
  return page.getByRole('button', { name, exact: true });
}

/** Through the form; the new key as it is shown. */
async function makeKey(page: Page, name: string, scopes: string[]): Promise<string> {
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByText('Scopes and expiry').click();
  for (const box of await page.getByRole('checkbox').all()) await box.uncheck();
  for (const scope of scopes) await page.getByRole('checkbox', { name: scope }).check();
  await button(page, 'Create key').click();
  await page.locator('h2:focus', { hasText: `Your new key: ${name}` }).waitFor();
  return page.getByTestId('secret').first().innerText();
}

test(
  'the first key is made by keyboard, shown once, and opens what is shown beside it',
  options,
  async () => {
    const { id } = await create(ada, '/apps', { name: 'First' });
    const page = await openKeys(ada, id);
    await page.getByText('This app has no keys yet').waitFor();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('');
    await page.getByText('Scopes and expiry').click();
    for (const box of await page.getByRole('checkbox').all()) await box.uncheck();
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('On a day you choose');
    await page.getByLabel('Last day').fill('2001-01-01');
    await button(page, 'Create key').press('Enter');
    await page.getByText('Enter a name').waitFor();
    await page.getByText('Choose at least one.').waitFor();
    await page.getByText('Choose today or a later day.').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).and(page.locator(':focus')).waitFor();
    await assertAccessible(page, 'the form for a key with errors');
    await page.keyboard.type('On the server');
    await page.getByText('Scopes and expiry').click();
    await page.getByRole('checkbox').first().waitFor({ state: 'hidden' });
    await button(page, 'Create key').press('Enter');
    await page.getByRole('checkbox').first().and(page.locator(':focus')).waitFor();
    await page.getByRole('checkbox', { name: 'Read the directory' }).check();
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('In 30 days');
    await page.getByRole('textbox', { name: 'Name' }).press('Enter');

    await page.locator('h2:focus', { hasText: 'Your new key: On the server' }).waitFor();
    const key = await page.getByTestId('secret').innerText();
    const answer = await run(await commandOn(page));
    assert.deepEqual([answer.status, answer.body.data[0].name], [200, 'Acme']);
    await button(page, 'Try it').press('Enter');
    await page
      .getByRole('status')
      .filter({ hasText: 'the directory has 2 organisations' })
      .waitFor();
    await page.getByRole('region', { name: 'Response' }).getByText('"name":"Acme"').waitFor();
    await button(page, "Done, I've saved it").press('Enter');
    await page.locator('h1:focus').waitFor();
    const entry = entryOf(page, 'On the server');
    await entry.getByText(`odk_…${key.slice(-4)}`).waitFor();
    assert.match(
      await entry.innerText(),
      /Valid.*Read the directory.*Created.*Last used\s*Never.*Expires/is,
    );
    await page.reload();
    await entry.waitFor();
    assert.ok(!(await page.content()).includes(key));
  },
);

test(
  'one click creates a key; leaving before it is saved asks first, and takes it away',
  options,
  async () => {
    const { id } = await create(ada, '/apps', { name: 'Quick' });
    const page = await portal.open({ as: ada, path: `/apps/${id}` });
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    // What docs/guides/quick-start.md needs.
    await page
      .getByText('Read the directory, read events, manage webhooks. Expires: never.')
      .waitFor();
    await button(page, 'Create key').click();
    const secret = await page.getByTestId('secret').innerText();
    const dialog = page.getByRole('dialog', { name: 'Leave without saving the key?' });
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await dialog.getByRole('button', { name: 'Stay' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.getByTestId('secret').innerText(), secret);
    await page.goBack();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await dialog.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Webhooks of Quick' }).waitFor();

    // On the way back to the keys of another app it is not shown.
    const { id: another } = await create(ada, '/apps', { name: 'Without' });
    await page.goto(`${portalUrl}/apps/${another}/keys`);
    await page.getByText('This app has no keys yet.').waitFor();
    await page.getByRole('link', { name: 'Apps', exact: true }).first().click();
    await page.getByRole('link', { name: 'Quick', exact: true }).click();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await button(page, 'Create key').click();
    await page.getByTestId('secret').waitFor();
    await page.evaluate('setTimeout(() => history.go(-3))');
    await dialog.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Keys of Without' }).waitFor();
    await page.getByText('This app has no keys yet.').waitFor();
    assert.equal(await page.getByTestId('secret').count(), 0);
  },
);

test('a key whose creation got no answer is made once, and shown', options, async () => {
  const bea = await signUp(portal.service, 'bea@example.org');
  const { id } = await create(bea, '/apps', { name: 'Interrupted' });
  const page = await openKeys(bea, id);
  await page.getByText('Scopes and expiry').click();
  // Of a request that is made again, this would be another time.
  await page.getByLabel('Expires').selectOption('In 30 days');
  await loseResponse(page, 'POST', `/apps/${id}/keys`);
  await button(page, 'Create key').click();
  await page.getByText('it is done only once').waitFor();
  await button(page, 'Create key').click();
  await page.locator('h2:focus', { hasText: 'Your new key' }).waitFor();
  assert.match(await page.getByTestId('secret').first().innerText(), /^odk_/);
  assert.equal((await bea.call(`/apps/${id}/keys`)).body.data.length, 1);
});

test('the sample request suits the scopes of the key', options, async () => {
  const { id } = await create(ada, '/apps', { name: 'Scopes' });
  const page = await openKeys(ada, id);
  for (const [scopes, path, words] of [
    [['Manage webhooks'], '/webhooks', 'this app has 0 webhooks'],
    [['Read events', 'Manage webhooks'], '/events', 'there are no events'],
  ] as const) {
    await makeKey(page, path, [...scopes]);
    const command = await commandOn(page);
    assert.ok(command.includes(`${testPublicUrl}/api/v1${path}`), command);
    assert.equal((await run(command)).status, 200);
    await button(page, 'Try it').click();
    await page.getByRole('status').filter({ hasText: words }).waitFor();
    await button(page, "Done, I've saved it").click();
    await entryOf(page, path)
      .getByText(scopes.length === 1 ? 'Manage webhooks' : 'Read events, manage webhooks')
      .waitFor();
  }
});

test(
  'a key that is shown stays until it is put away, beside those made after it',
  options,
  async () => {
    const { id } = await create(ada, '/apps', { name: 'Beside' });
    const page = await openKeys(ada, id);
    const shown = (name: string) => page.getByRole('region', { name: `Your new key: ${name}` });
    const first = await makeKey(page, 'First', ['Read the directory']);
    const second = await makeKey(page, 'Second', ['Read the directory']);
    assert.notEqual(first, second);
    await shown('First').getByText(first, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Rotate Second' }).click();
    await button(page, 'Rotate key').click();
    await shown('Second').nth(1).waitFor();
    assert.equal(await page.getByTestId('secret').count(), 3);
    await page.evaluate('navigator.clipboard.writeText = async () => { throw new Error("no"); }');
    await shown('First').getByRole('button', { name: 'Copy: Call the API with it' }).click();
    await page.getByRole('status').filter({ hasText: 'Not copied: select the text' }).waitFor();
    await assertAccessible(page, 'three keys that are shown once');
    await button(page, "Done, I've saved it").first().click();
    await page.locator('h1:focus').waitFor();
    assert.deepEqual(await page.getByTestId('secret').allInnerTexts(), [second, first]);
  },
);

test('a key that is revoked opens nothing, and the screen says so', options, async () => {
  const { id } = await create(ada, '/apps', { name: 'Revoked' });
  const page = await openKeys(ada, id);
  await makeKey(page, 'Leaked', ['Read the directory']);
  const command = await commandOn(page);
  await page.getByRole('button', { name: 'Revoke Leaked' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke Leaked' });
  await button(page, 'Cancel').and(page.locator(':focus')).waitFor();
  await dialog.getByText('stops working').waitFor();
  await page.keyboard.press('Escape');
  await page
    .getByRole('button', { name: 'Revoke Leaked' })
    .and(page.locator(':focus'))
    .press('Enter');
  await dialog.getByRole('button', { name: 'Revoke key' }).click();
  await page.locator('h2:focus', { hasText: 'Leaked' }).waitFor();
  const entry = entryOf(page, 'Leaked');
  await entry.getByText('Revoked').first().waitFor();
  await entry.getByRole('button').first().waitFor({ state: 'detached' });
  await portal.service.settled();
  assert.equal((await run(command)).status, 401);
  await button(page, 'Try it').click();
  await page.getByRole('status').filter({ hasText: 'The service refuses this key' }).waitFor();
  // The refusal was about the key: the user is still signed in, and the key stays on the screen.
  await page.getByTestId('secret').waitFor();
});

test(
  'a key is rotated: the new one at once, the old one for as long as was chosen',
  options,
  async () => {
    const { id } = await create(ada, '/apps', { name: 'Rotated' });
    const page = await openKeys(ada, id);
    await makeKey(page, 'Server', ['Read the directory']);
    const first = await commandOn(page);
    await button(page, "Done, I've saved it").click();
    const rotate = page.getByRole('button', { name: 'Rotate Server' });
    const dialog = page.getByRole('dialog', { name: 'Rotate Server' });
    await rotate.click();
    await page.getByRole('radio', { name: '24 hours' }).and(page.locator(':focus')).waitFor();
    await assertAccessible(page, 'the dialog to rotate a key');
    await page.keyboard.press('Escape');
    await rotate.and(page.locator(':focus')).press('Enter');
    await dialog.getByRole('radio', { name: '1 hour' }).check();
    await button(page, 'Rotate key').click();
    await page.locator('h2:focus', { hasText: 'Your new key: Server' }).waitFor();
    await page.getByText('The old key works until').waitFor();
    const second = await commandOn(page);
    assert.notEqual(second, first);
    assert.deepEqual([(await run(first)).status, (await run(second)).status], [200, 200]);
    await entryOf(page, 'Expires soon').waitFor();
    await button(page, "Done, I've saved it").click();
    // Two keys are valid now, and their names differ.
    const [newest, before] = (await page.getByText(/^odk_…/).allInnerTexts()).map((text) =>
      text.slice(-4),
    );
    await page.getByRole('button', { name: `Rotate Server (…${newest})` }).waitFor();
    await page.getByRole('button', { name: `Revoke Server (…${before})` }).click();
    await page.getByRole('dialog', { name: `Revoke Server (…${before})` }).waitFor();
    await button(page, 'Cancel').click();

    // The new key appears before the list reloads, because the old one may no longer be in it.
    const held = Promise.withResolvers<void>();
    await page.route(/\/keys\?/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await rotate.first().click();
    await dialog.getByRole('radio', { name: 'Expires immediately' }).check();
    await button(page, 'Rotate key').click();
    await page.getByText('The old key no longer works.').waitFor();
    await page.locator('h2:focus', { hasText: 'Your new key: Server' }).waitFor();
    held.resolve();
    assert.notEqual(await commandOn(page), second);
    await portal.service.settled();
    assert.deepEqual(
      [(await run(second)).status, (await run(await commandOn(page))).status],
      [401, 200],
    );
    await entryOf(page, 'Expired').waitFor();
  },
);

test(
  'a twenty-first valid key is refused in words, the form keeps what was typed, and the list has pages',
  options,
  async () => {
    const { id } = await create(ada, '/apps', { name: 'Full' });
    const path = `/apps/${id}/keys`;
    const createAnother = (name: string) => create(ada, path, { name, scopes: ['read:events'] });
    await createAnother('Oldest');
    for (let count = 2; count <= 18; count += 1) await createAnother(`Key ${count}`);
    const used = await createAnother('Server');
    await sql`update api_keys set last_used_at = now() where id = ${used.id}`.execute(
      portal.service.database,
    );
    const leaked = await createAnother('Leaked');
    await ada.call(`${path}/${leaked.id}`, { method: 'DELETE' });
    const page = await openKeys(ada, id);
    await page.getByRole('textbox', { name: 'Name' }).waitFor();
    await createAnother('Key 20');
    await page.getByRole('textbox', { name: 'Name' }).fill('One more');
    await button(page, 'Create key').click();
    await page
      .getByRole('alert')
      .getByText('The app can have at most 20 keys. Revoke one first.')
      .waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'One more');

    await page.reload();
    await page.getByText('This app has 20 valid keys and can have 20.').waitFor();
    assert.equal(await button(page, 'Create key').count(), 0);
    assert.match(await entryOf(page, 'Server').innerText(), /Last used\s+(now|\d+ seconds? ago)/i);
    assert.match(await entryOf(page, 'Leaked').innerText(), /Revoked/i);
    await page.getByText('1–20 of 21').waitFor();
    await assertAccessible(page, 'keys, one of which has ended');
    await button(page, 'Page 2').click();
    await entryOf(page, 'Oldest').waitFor();
    assert.match(page.url(), /\/keys\?page=2$/);
    await page.getByRole('region', { name: 'Keys, page 2' }).and(page.locator(':focus')).waitFor();
    await page.goBack();
    await entryOf(page, 'Key 20').waitFor();

    await portal.service.database
      .transaction()
      .execute((tx) => changeQuotas(tx, testActor, id, { keys: 21 }));
    await page.reload();
    await button(page, 'Create key').click();
    await page.getByText('This app has 21 valid keys and can have 21.').waitFor();
  },
);
