/** The directory in the console: found, read, edited and deleted, with its history. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../service/src/database/database.ts';
import { setOperator } from '../../service/src/sign-in/operators.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { blueprint, put } from '../../service/test/support/directory.ts';
import { makeOperator } from '../../service/test/support/operator.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const operator = noBrowser ? null! : await makeOperator(portal.service, 'operator@example.org');
const url = `${testPublicUrl}/profile/operator/directory`;

if (!noBrowser) {
  const { database } = portal.service;
  await put(database, 'alliances', [{ slug: 'league', name: 'Northern League' }]);
  await put(database, 'orgs', [
    { slug: 'acme', name: 'Acme Corporation', alliance: 'league', managers: ['eve@example.org'] },
    { slug: 'other', name: 'Other Makers' },
  ]);
  await put(database, 'blueprints', [blueprint({ key: 'stone:granite', name: 'Granite' })]);
}

test('an entry is found, edited and has a history', options, async () => {
  const page = await portal.open({ as: operator, url });
  await page.getByRole('searchbox', { name: 'Search' }).pressSequentially('acme');
  await page.getByRole('rowheader', { name: 'Other Makers' }).waitFor({ state: 'detached' });
  await assertAccessible(page, 'directory of the console');
  await page.getByRole('link', { name: 'Acme Corporation' }).click();
  await page.getByRole('heading', { name: 'Acme Corporation', level: 1 }).waitFor();
  const save = page.getByRole('button', { name: 'Save' });
  assert.ok(await save.isDisabled());
  await page.getByRole('textbox', { name: 'Description' }).fill('Makers of everything.');
  await page.getByRole('textbox', { name: 'Website' }).fill('https://acme.example.org');
  await page.getByRole('textbox', { name: /Managers/ }).fill('eve@example.org\nzoe@example.org');
  await page.getByRole('checkbox', { name: 'Recruiting' }).check();
  await save.click();
  await page.getByText('Acme Corporation is saved.').waitFor();
  assert.ok(await save.isDisabled());
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('description: nothing → Makers of everything.').waitFor();
  await history.getByText('added a manager: zoe@example.org').waitFor();
  const { rows } = await sql<{ description: string; links: { website: string } }>`
    select description, links from orgs where slug = 'acme'
  `.execute(portal.service.database);
  assert.deepEqual(
    [rows[0]?.description, rows[0]?.links.website],
    ['Makers of everything.', 'https://acme.example.org'],
  );
  await assertAccessible(page, 'entry of the console');
});

test(
  'a link to the whole list ends a search, and one to an entry replaces its form',
  options,
  async () => {
    const page = await portal.open({ as: operator, url });
    const search = page.getByRole('searchbox', { name: 'Search' });
    const other = page.getByRole('rowheader', { name: 'Other Makers' });
    for (const _ of ['once', 'and again']) {
      await other.waitFor();
      await search.fill('acme');
      await other.waitFor({ state: 'detached' });
      await page.getByRole('navigation').getByRole('link', { name: 'Directory' }).click();
      await other.waitFor();
      assert.equal(await search.inputValue(), '');
    }

    // The form of an entry never has the fields of another one.
    const managers = page.getByRole('textbox', { name: /Managers/ });
    await page.getByRole('link', { name: 'Other Makers' }).click();
    await managers.waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Directory' }).click();
    await page.getByRole('link', { name: 'Acme Corporation' }).click();
    await managers.waitFor();
    await page.evaluate('setTimeout(() => history.go(-2))');
    await page.getByRole('heading', { name: 'Other Makers', level: 1 }).waitFor();
    assert.equal(await managers.inputValue(), '');
  },
);

test('what the service refuses is said at its field, and stays typed', options, async () => {
  const page = await portal.open({ as: operator, url: `${url}/orgs/acme` });
  const website = page.getByRole('textbox', { name: 'Website' });
  await website.fill('no address');
  await page.getByRole('textbox', { name: 'Slug of its alliance' }).fill('nobody');
  await page.getByRole('textbox', { name: 'Members' }).fill('many');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Must begin with http:// or https://.').waitFor();
  assert.equal(await website.getAttribute('aria-invalid'), 'true');
  assert.equal(await website.inputValue(), 'no address');

  // It takes the focus, also of a fault that only the database knows.
  await page.reload();
  const alliance = page.getByRole('textbox', { name: 'Slug of its alliance' });
  await alliance.fill('nobody');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('There is no alliance nobody.').waitFor();
  await alliance.and(page.locator(':focus')).waitFor();
});

test(
  'a change by somebody else meanwhile is not undone, nor a manager removed',
  options,
  async () => {
    const page = await portal.open({ as: operator, url: `${url}/orgs/other` });
    await page.getByRole('textbox', { name: 'Tag' }).fill('OM');
    await operator.call('/operator/orgs/other', { method: 'PATCH', json: { location: 'Oslo' } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Other Makers is saved.').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Location' }).inputValue(), 'Oslo');

    const managers = page.getByRole('textbox', { name: /Managers/ });
    await managers.fill('carol@example.org');
    await operator.call('/operator/orgs/other', {
      method: 'PATCH',
      json: { managers: ['bob@example.org'] },
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody else has changed it').waitFor();
    assert.equal(await managers.inputValue(), 'carol@example.org');
    const { body } = await operator.call('/operator/orgs/other');
    assert.deepEqual(body.data.managers, ['bob@example.org']);
    await page.reload();
    await managers.fill('bob@example.org\ncarol@example.org');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Other Makers is saved.').waitFor();
  },
);

test(
  'alliances and blueprints are edited, and one is deleted after its name',
  options,
  async () => {
    const page = await portal.open({ as: operator, url: `${url}?kind=alliances` });
    await page.getByRole('link', { name: 'Northern League' }).click();
    await page.getByRole('textbox', { name: 'Tag' }).fill('NL');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('region', { name: 'History' }).getByText('tag: nothing → NL').waitFor();
    await page.goto(`${url}?kind=blueprints`);
    await page.getByRole('link', { name: 'Granite' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Granite?' });
    assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled());
    await dialog.getByRole('textbox').fill('Granite');
    await assertAccessible(page, 'deleting an entry');
    await page.keyboard.press('Enter');
    await page.getByText('There are none yet.').waitFor();
    assert.match(page.url(), /\/directory\?kind=blueprints$/);
  },
);

test('line breaks of a description stay what they are', options, async () => {
  await operator.call('/operator/orgs/other', {
    method: 'PATCH',
    json: { description: 'First.\n\nSecond.' },
  });
  const page = await portal.open({ as: operator, url: `${url}/orgs/other` });
  const description = page.getByRole('textbox', { name: 'Description' });
  assert.equal(await description.inputValue(), 'First.\n\nSecond.');
  for (const more of ['Third.', 'Fourth.']) {
    await description.fill(`${await description.inputValue()}\n${more}`);
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.getByRole('button', { name: 'Save' }).click();
    await saved;
  }
  const { rows } = await sql<{ description: string }>`
    select description from orgs where slug = 'other'
  `.execute(portal.service.database);
  assert.equal(rows[0]?.description, 'First.\n\nSecond.\nThird.\nFourth.');
});

test('a read-only operator sees the fields and changes none', options, async () => {
  await portal.service.database
    .transaction()
    .execute((tx) => setOperator(tx, testActor, { account: operator.email, role: 'read-only' }));
  const page = await portal.open({ as: operator, url: `${url}/orgs/acme` });
  await page.getByText('Makers of everything.').first().waitFor();
  assert.equal(await page.getByRole('textbox').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
  await page.goto(`${url}/planets/acme`);
  await page.getByRole('heading', { name: /not found/i }).waitFor();
});
