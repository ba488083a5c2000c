/**
 * Takes pictures of every screen of the portal, light and dark, wide and narrow, with the real service and the demo's
 * directory. The README shows some of them.
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
const widths = { 1280: 800, 360: 780 };
/** Longer pages are cut: the rest repeats. */
const lengthMax = 1_700;
const schemes = ['light', 'dark'] as const;

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
  const webhook = `${root}/webhooks/${failing.id}`;
  const screens = {
    overview: '',
    apps: '/apps',
    app: root,
    keys: `${root}/keys`,
    webhooks: `${root}/webhooks`,
    'new-webhook': `${root}/webhooks/new`,
    'app-deliveries': `${root}/deliveries`,
    deliveries: `${webhook}/deliveries?status=failed`,
    delivery: `${webhook}/deliveries/${deliveryId}`,
    settings: `${webhook}/settings`,
    signing: `${webhook}/signing`,
    test: `${webhook}/test`,
    members: `${root}/members`,
    events: '/events',
    audit: '/audit',
    account: '/account',
    security: '/security',
  };
  for (const [width, height] of Object.entries(widths)) {
    const viewport = { width: Number(width), height };
    const page = await open({ as: ada, viewport });
    for (const [name, path] of Object.entries(screens)) await take(page, path, `${name}-${width}`);
    const signedOut = await open({ viewport });
    await take(signedOut, '/sign-in', `sign-in-${width}`);
  }
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

async function take(page: Page, path: string, name: string): Promise<void> {
  // What arrives late may change the length of the page.
  await page.goto(`${portalUrl}${path}`, { waitUntil: 'networkidle' });
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    await page.locator('h1').waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    const { width } = page.viewportSize() ?? { width: 0 };
    const length = Number(await page.evaluate('document.documentElement.scrollHeight'));
    await page.screenshot({
      fullPage: true,
      clip: { x: 0, y: 0, width, height: Math.min(length, lengthMax) },
      path: `${folder}${name}-${colorScheme}.png`,
    });
  }
}

async function readDemo(kind: 'orgs' | 'alliances'): Promise<Record<string, unknown>[]> {
  const text = await readFile(new URL(`../../demo/${kind}.ndjson`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
