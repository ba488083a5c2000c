import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { noBrowser } from '../../test/support/browser.ts';
import { openPortal, portalUrl, signUp } from './support/portal-browser.ts';

const assets = fileURLToPath(new URL('../dist/assets/', import.meta.url));
const scriptBytesMax = 260_000;

type Loaded = { path: string; start: number; end: number; bytes: number };

test('all scripts together are small, even as gzip', async () => {
  const names = (await readdir(assets)).filter((name) => name.endsWith('.js'));
  const sizes = await Promise.all(
    names.map(async (name) => {
      const file = `${assets}${name}`;
      const compressed = await stat(`${file}.gz`).catch(() => null);
      return compressed?.size ?? (await readFile(file)).length;
    }),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total > 0 && total <= scriptBytesMax, `${total} bytes`);
});

test(
  'the first screen needs two round trips, and comes compressed',
  { skip: noBrowser },
  async () => {
    const portal = await openPortal();
    const page = await portal.open({ as: await signUp(portal.service, 'ada@example.org') });
    await page.getByText('No webhooks are failing or deactivated.').waitFor();
    const loaded = (await page.evaluate(`performance.getEntriesByType('resource')
    .filter(({ name }) => name.startsWith(${JSON.stringify(new URL(portalUrl).origin)}))
    .map(({ name, startTime, responseEnd, transferSize }) =>
      ({ path: new URL(name).pathname, start: startTime, end: responseEnd, bytes: transferSize }))`)) as Loaded[];
    const script = loaded.find(({ path }) => path.endsWith('.js'));
    assert.ok(script);
    assert.ok(script.bytes < scriptBytesMax, `${script.bytes} bytes`);
    const overviews = loaded.filter(({ path }) => path === '/portal/api/overview');
    assert.equal(overviews.length, 1, 'asked for once');
    assert.ok(
      (overviews[0]?.start ?? Infinity) < script.end,
      'asked for beside the script, not after it',
    );
    // Later requests only add to a screen that is already usable.
    const later = loaded.filter(({ start }) => start >= script.end).map(({ path }) => path);
    assert.deepEqual(later, ['/api/v1/status']);
    const scripts = loaded.filter(({ path }) => path.endsWith('.js'));
    assert.equal(scripts.length, 1, 'what few open comes when they open it');
  },
);
