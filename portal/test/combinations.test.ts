/** Every page with names of every script, with much and with nothing, at three widths, also while the service is stopped. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertFits } from './support/accessibility.ts';
import { create } from './support/create.ts';
import {
  comeBack,
  openPortal,
  portalUrl,
  signUp,
  switchCookies,
  type Person,
} from './support/portal-browser.ts';

const names = [
  'The Interplanetary Association for Donaudampfschifffahrtselektrizitätenhauptbetriebswerke',
  '日本電信電話株式会社 ウェブフック開発本部',
  'الشركة السعودية للاتصالات وتقنية المعلومات',
] as const;
const webhookCount = 20;
const widths = [1280, 768, 390];

const pages = (app: string) => [
  '',
  '/apps',
  app,
  `${app}/webhooks`,
  `${app}/webhooks/new`,
  `${app}/deliveries`,
  `${app}/events`,
  `${app}/members`,
  `${app}/keys`,
  '/audit',
  '/account',
];

const portal = noBrowser ? null! : await openPortal();
const window = noBrowser ? null! : await portal.openForAll();

async function makeOwner(name: string, content: string): Promise<{ person: Person; app: string }> {
  const { database } = portal.service;
  const person = await signUp(
    portal.service,
    `${content}-${names.indexOf(name as never)}@example.org`,
  );
  await sql`update users set name = ${name} where email = ${person.email}`.execute(database);
  const { id } = await create(person, '/apps', { name });
  if (content === 'much') await fill(person, id, name);
  return { person, app: `/apps/${id}` };
}

async function fill(person: Person, app: string, name: string): Promise<void> {
  const { database } = portal.service;
  await create(person, `/apps/${app}/keys`, { name, scopes: ['read:directory'] });
  const receivers = [
    await startReceiver(),
    await startReceiver((response) => response.writeHead(500).end('Broken')),
  ];
  for (let count = 0; count < webhookCount; count += 1)
    await create(person, `/apps/${app}/webhooks`, {
      url: receivers[count % 2]?.url,
      description: `${names[count % names.length]} ${count}`,
    });
  await put(database, 'orgs', [{ slug: 'acme', name: names[2] }]);
  await announce(database);
  await eventually(async () => {
    const { rows } = await sql`
      select from deliveries join webhooks on webhooks.id = webhook_id
      where app_id = ${app} and completed_at is not null having count(*) = ${webhookCount}
    `.execute(database);
    return rows.length > 0;
  });
}

for (const [name, content] of [
  [names[0], 'much'],
  [names[2], 'much'],
  [names[1], 'nothing'],
] as const)
  test(`pages with ${content}, named ${name}, fit the screen`, { skip: noBrowser }, async () => {
    const { person, app } = await makeOwner(name, content);
    await switchCookies(window, person);
    for (const path of pages(app)) {
      await window.goto(`${portalUrl}${path}`);
      await window.getByRole('main').getByRole('heading', { level: 1 }).waitFor();
      await window.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      await assertWhole(window, path);
      await window.context().setOffline(true);
      await comeBack(window, 'before');
      const stopped = window
        .getByRole('status')
        .filter({ hasText: 'The service does not respond' });
      await stopped.waitFor();
      await assertWhole(window, `${path}, stopped`);
      await window.context().setOffline(false);
    }
  });

async function assertWhole(page: Page, what: string): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    const where = `${what}, ${width} px`;
    await assertFits(page, where);
    assert.deepEqual(await cutOff(page), [], `${where}: controls that are not whole on the screen`);
    assert.deepEqual(await cutAtStart(page), [], `${where}: names without their beginning`);
  }
}

/** The names of buttons, links and fields that stick out at a side, other than in a box that scrolls. */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(`{
    const scrolls = (element) =>
      element !== null &&
      (['auto', 'scroll'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    [...document.querySelectorAll('a, button, input, select, textarea')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((element) => {
        const { left, right, width } = element.getBoundingClientRect();
        return width > 1 && (left < 0 || right > innerWidth) && !scrolls(element.parentElement);
      })
      .map((element) => element.getAttribute('aria-label') ?? element.textContent);
  }`);
}

/** Texts from right to left that are cut as if they went from left to right. */
function cutAtStart(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('main *')]
    .filter((element) => {
      const { textOverflow, direction } = getComputedStyle(element);
      return textOverflow === 'ellipsis' && direction === 'ltr' && element.scrollWidth > element.clientWidth;
    })
    .map((element) => element.textContent)
    .filter((text) => /^\\p{Script=Arabic}/u.test(text))`);
}
