/** Every page in combinations of what changes how it looks: any two values of different factors meet on some page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertReadable } from './support/accessibility.ts';
import { create } from './support/create.ts';
import {
  comeBack,
  openPortal,
  portalUrl,
  signInAs,
  signUp,
  switchCookies,
  type Person,
} from './support/portal-browser.ts';

const names = {
  long: 'The Interplanetary Association for Donaudampfschifffahrtselektrizitätenhauptbetriebswerke',
  japanese: '日本電信電話株式会社 ウェブフック開発本部',
  arabic: 'الشركة السعودية للاتصالات وتقنية المعلومات',
};
const webhookCount = 20;

/** Below the page of the app, or of the portal. */
const pages = {
  overview: () => '',
  apps: () => '/apps',
  app: (app: string) => app,
  webhooks: (app: string) => `${app}/webhooks`,
  'new webhook': (app: string) => `${app}/webhooks/new`,
  deliveries: (app: string) => `${app}/deliveries`,
  events: (app: string) => `${app}/events`,
  members: (app: string) => `${app}/members`,
  keys: (app: string) => `${app}/keys`,
  audit: () => '/audit',
  account: () => '/account',
};

const factors = {
  page: Object.keys(pages),
  name: Object.keys(names),
  state: ['runs', 'is stopped', 'session ended'],
  content: ['much', 'nothing'],
  width: ['1280', '768', '390'],
  colours: ['light', 'dark'],
};
type Factor = keyof typeof factors;
type Row = Record<Factor, string>;

/** Greedy: each row has a pair that no row before has, and as many more of them as its other values allow. */
function pairwise(): Row[] {
  const entries = Object.entries(factors) as [Factor, string[]][];
  const missing = new Set(
    entries.flatMap(([one, values], at) =>
      entries
        .slice(at + 1)
        .flatMap(([other, others]) =>
          values.flatMap((value) => others.map((its) => pairOf(one, value, other, its))),
        ),
    ),
  );
  const rows: Row[] = [];
  while (missing.size > 0) {
    const [first = ''] = missing;
    const row = Object.fromEntries(JSON.parse(first)) as Row;
    const gain = (factor: Factor, value: string) =>
      Object.entries(row).filter(([other, its]) => missing.has(pairOf(factor, value, other, its)))
        .length;
    for (const [factor, values] of entries)
      row[factor] ??= values.toSorted((a, b) => gain(factor, b) - gain(factor, a))[0] ?? '';
    for (const [one, value] of Object.entries(row))
      for (const [other, its] of Object.entries(row))
        missing.delete(pairOf(one, value, other, its));
    rows.push(row);
  }
  return rows;
}

function pairOf(one: string, value: string, other: string, its: string): string {
  const order = Object.keys(factors);
  const pair = [[one, value] as const, [other, its] as const];
  return JSON.stringify(pair.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)));
}

type Owner = { person: Person; app: string };
const portal = noBrowser ? null! : await openPortal();
const window = noBrowser ? null! : await portal.openForAll();
const owners = noBrowser ? {} : await makeOwners();

/** One per name, with much of everything and with an app alone. */
async function makeOwners(): Promise<Record<string, Owner>> {
  const { service } = portal;
  const receivers = [
    await startReceiver(),
    await startReceiver((response) => response.writeHead(500).end('Broken')),
  ];
  const made: Record<string, Owner> = {};
  for (const [key, name] of Object.entries(names))
    for (const content of factors.content) {
      const person = await signUp(service, `${key}-${content}@example.org`);
      await sql`update users set name = ${name} where email = ${person.email}`.execute(
        service.database,
      );
      const { id } = await create(person, '/apps', { name });
      made[key + content] = { person, app: `/apps/${id}` };
      if (content === 'nothing') continue;
      await create(person, `/apps/${id}/keys`, { name, scopes: ['read:directory'] });
      for (let count = 1; count <= webhookCount; count += 1)
        await create(person, `/apps/${id}/webhooks`, {
          url: receivers[count % 2]?.url,
          description: `${name} ${count}`,
        });
    }
  await put(service.database, 'orgs', [{ slug: 'acme', name: names.arabic }]);
  await announce(service.database);
  await eventually(async () => {
    const { rows } = await sql`
      select from deliveries where completed_at is not null
      having count(*) = ${webhookCount * Object.keys(names).length}
    `.execute(service.database);
    return rows.length > 0;
  });
  return made;
}

for (const row of pairwise())
  test(Object.values(row).join(', '), { skip: noBrowser }, async () => {
    const { name, content, width, colours, state } = row;
    const owner = owners[name + content];
    assert.ok(owner);
    const { person, app } = owner;
    const as = state === 'session ended' ? await signInAs(portal.service, person.email) : person;
    const page = window;
    await page.context().setOffline(false);
    // What the page before still asks for must not answer with its cookies.
    await page.goto(`${testPublicUrl}/robots.txt`);
    await switchCookies(page, as);
    await page.setViewportSize({ width: Number(width), height: 800 });
    await page.emulateMedia({ colorScheme: colours as 'light' | 'dark' });
    await page.goto(`${portalUrl}${pages[row.page as keyof typeof pages](app)}`);
    await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    if (state === 'is stopped') await stop(page);
    if (state === 'session ended') await end(page, as);
    await assertReadable(page, 'the page');
    assert.deepEqual(await cutOff(page), [], 'controls that are not whole on the screen');
    assert.deepEqual(await cutAtStart(page), [], 'names without their beginning');
  });

async function stop(page: Page): Promise<void> {
  await page.context().setOffline(true);
  await comeBack(page, 'before');
  await page.getByRole('status').filter({ hasText: 'The service does not respond' }).waitFor();
}

async function end(page: Page, person: Person): Promise<void> {
  await person.call('/sign-out', { method: 'POST' });
  await comeBack(page, 'before');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByText('Sign in again to continue.').waitFor();
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
