/** Five common tasks, each in at most four clicks from the overview. A choice in a list counts as two clicks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { sql } from '../../service/src/database/database.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { openPortal, signUp } from './support/portal-browser.ts';
import { makeWebhook } from './support/webhook.ts';

const options = { skip: noBrowser };
const clicksMax = 4;
const failures = 21;
const portal = noBrowser ? null! : await openPortal({ WEBHOOK_DEACTIVATE_AFTER: '1000' });
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const receiver = noBrowser ? null! : await startReceiver(fail);
const webhook = noBrowser ? null! : await makeWebhook(ada, receiver.url);

function fail(response: { writeHead: (status: number) => { end: () => unknown } }): void {
  response.writeHead(500).end();
}

if (!noBrowser) {
  const { database } = portal.service;
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  for (let count = 1; count <= failures; count += 1) await announce(database);
  await eventually(async () => {
    const { rows } = await sql`
      select from deliveries where webhook_id = ${webhook.webhookId} having count(*) = ${failures}
    `.execute(database);
    return rows.length > 0;
  });
}

type Task = {
  page: Page;
  click: (target: Locator, options?: { modifiers: ['Shift'] }) => Promise<void>;
  choose: (target: Locator, option: string) => Promise<void>;
};

/** Opens the overview, runs the task and checks its clicks. */
async function inFourClicks(run: (task: Task) => Promise<void>): Promise<void> {
  const page = await portal.open({ as: ada });
  let clicks = 0;
  await run({
    page,
    async click(target, how) {
      clicks += 1;
      await target.click(how);
    },
    async choose(target, option) {
      clicks += 2;
      await target.selectOption(option);
    },
  });
  assert.ok(clicks <= clicksMax, `${clicks} clicks`);
}

const rowsOf = (page: Page) =>
  page
    .getByRole('table')
    .getByRole('row')
    .filter({ hasNot: page.getByRole('columnheader') });

test('why did this delivery fail?', options, () =>
  inFourClicks(async ({ page, click }) => {
    await click(page.getByRole('link', { name: `${failures} deliveries failed or cancelled` }));
    await click(rowsOf(page).getByRole('link', { name: 'org.created' }).first());
    await page.getByText('Your server failed (500)').first().waitFor();
    await page.getByText('What to check').first().waitFor();
  }),
);

test('which deliveries got a 500 yesterday?', options, () =>
  inFourClicks(async ({ page, click, choose }) => {
    await click(page.getByRole('link', { name: `Failed: ${failures}` }));
    await click(rowsOf(page).first().getByRole('link', { name: '500' }));
    await page.waitForURL(/status=failed&response=500/);
    await choose(page.getByLabel('Time', { exact: true }), 'Yesterday');
    await page.getByRole('heading', { name: 'Nothing matches these filters' }).waitFor();
  }),
);

test('what happened to the creation of an organisation?', options, () =>
  inFourClicks(async ({ page, click }) => {
    await click(page.getByRole('link', { name: 'All deliveries' }));
    await click(page.getByLabel('Organisation or alliance'));
    await page.keyboard.type('acme');
    await page.keyboard.press('Enter');
    await page.waitForURL(/subject=acme/);
    await click(rowsOf(page).getByRole('link', { name: 'org.created' }).first());
    await page.getByText('All attempts failed').waitFor();
  }),
);

test('roll a secret without losing a delivery', options, () =>
  inFourClicks(async ({ page, click }) => {
    const own = page.getByRole('region', { name: 'Webhooks of Announcer' });
    await click(own.getByRole('link', { name: new URL(receiver.url).host }));
    await click(page.getByRole('link', { name: 'Signing' }));
    await click(page.getByRole('button', { name: 'Rotate the secret' }));
    const dialog = page.getByRole('dialog');
    assert.ok(await dialog.getByLabel('24 hours').isChecked(), 'both secrets sign for a day');
    await click(dialog.getByRole('button', { name: 'Rotate the secret' }));
    await page.getByRole('heading', { name: 'The new secret' }).waitFor();
  }),
);

test('resend the last 20 failures', options, () =>
  inFourClicks(async ({ page, click }) => {
    receiver.respond = (response) => response.writeHead(204).end();
    await click(page.getByRole('link', { name: `Failed: ${failures}` }));
    const boxes = rowsOf(page).getByRole('checkbox');
    await click(boxes.first());
    await click(boxes.nth(19), { modifiers: ['Shift'] });
    await click(page.getByRole('button', { name: 'Redeliver 20' }));
    await page.getByText('20 deliveries are being sent again.').waitFor();
  }),
);
