/**
 * Takes the README's screenshots of the portal, with the real service and the demo's directory.
 *   npm run screenshots
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { sql, type Database } from '../../service/src/database/database.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { openPortal, portalUrl, signUp } from '../test/support/portal-browser.ts';
import { seedHistory } from './seed-history.ts';

const folder = fileURLToPath(new URL('../../docs/portal/', import.meta.url));
const wide = { width: 1180, height: 760 };
const narrow = { width: 390, height: 760 };

test('the pictures of the portal', async () => {
  const { service, open } = await openPortal({ SERVICE_NAME: 'Directory' });
  const { database } = service;
  const ada = await signUp(service, 'ada@example.org');
  await put(database, 'alliances', await readDemo('alliances'));
  const orgs = await readDemo('orgs');
  const managed = orgs.find((org) => org['name'] === 'Nokia');
  assert.ok(managed);
  managed['managers'] = [ada.email];
  await put(database, 'orgs', orgs);
  const post = async (path: string, json: object, method = 'POST') => {
    const { status, body } = await ada.call(path, { method, json });
    assert.ok(status < 300, JSON.stringify(body));
    return body.data;
  };

  const app = await post('/apps', { name: 'Announcer' });
  await post(`/apps/${app.id}/binding`, { kind: 'organization', slug: 'nokia' }, 'PUT');
  const inThreeDays = new Date(Date.now() + 3.5 * 86_400_000).toISOString();
  const scopes = ['read:directory', 'read:events'];
  await post(`/apps/${app.id}/keys`, { name: 'Chat bot', scopes, expiresAt: inThreeDays });
  await post(`/apps/${app.id}/keys`, { name: 'Web site', scopes: ['read:directory'] });
  const good = await startReceiver();
  const bad = await startReceiver((response) =>
    response.writeHead(500, { 'content-type': 'text/plain' }).end('database is locked'),
  );
  const hook = await post(`/apps/${app.id}/webhooks`, {
    url: good.url,
    description: 'Posts into the chat',
  });
  const failing = await post(`/apps/${app.id}/webhooks`, {
    url: bad.url,
    description: 'Updates the web site',
  });
  await seedHistory(database, [hook.id, failing.id]);
  await announce(database, 'nokia');
  const deliveryId = await exhausted(database, failing.id);

  const root = `/apps/${app.id}`;
  const page = await open({ as: ada, viewport: wide });
  await take(page, '', 'overview', 'light');
  await take(page, `${root}/webhooks/${hook.id}`, 'webhook', 'light');
  await take(page, `${root}/webhooks/${failing.id}/deliveries`, 'deliveries', 'light');
  await take(page, `${root}/webhooks/${failing.id}/deliveries/${deliveryId}`, 'delivery', 'dark');
  await take(page, `${root}/keys`, 'keys', 'light');
  await page.setViewportSize(narrow);
  await take(page, '', 'overview-narrow', 'dark');
});

/** The delivery to the webhook that has used up all its attempts, once the webhook shows it. */
function exhausted(database: Database, webhookId: string): Promise<string> {
  return eventually(async () => {
    const { rows } = await sql<{ id: string }>`
      select d.id from deliveries d join webhook_health h on h.webhook_id = d.webhook_id
      where d.webhook_id = ${webhookId} and d.attempt_count = 6 and h.exhausted_in_a_row > 0
    `.execute(database);
    return rows[0]?.id;
  });
}

async function take(
  page: Page,
  path: string,
  name: string,
  colorScheme: 'light' | 'dark',
): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.goto(`${portalUrl}${path}`);
  await page.locator('h1').waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: `${folder}${name}.png` });
}

async function readDemo(kind: 'orgs' | 'alliances'): Promise<Record<string, unknown>[]> {
  const text = await readFile(new URL(`../../demo/${kind}.ndjson`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
