import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { noBrowser } from '../../test/support/browser.ts';
import { openPortal, portalUrl, signUp } from './support/portal-browser.ts';

const built = fileURLToPath(new URL('../dist/', import.meta.url));
/** The promise of docs/decisions/0018-pages.md, as gzip. Browsers that know Brotli load less. */
const firstScriptBytesMax = 250_000;

type Loaded = { path: string; start: number; end: number; bytes: number };

test('the script of the first screen is small, even as gzip', async () => {
  const html = await readFile(`${built}index.html`, 'utf8');
  const scripts = html.match(/assets\/[^"]+\.js/g) ?? [];
  assert.equal(scripts.length, 1);
  const { size } = await stat(`${built}${scripts[0]}.gz`);
  assert.ok(size > 0 && size <= firstScriptBytesMax, `${size} bytes`);
});

test(
  'the first screen needs two round trips, and comes compressed',
  { skip: noBrowser },
  async () => {
    const portal = await openPortal();
    const page = await portal.open({ as: await signUp(portal.service, 'ada@example.org') });
    await page.getByText('Nothing. No webhook fails').waitFor();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    // What is under way is in no list.
    await page.waitForLoadState('networkidle');
    const loaded = (await page.evaluate(`performance.getEntriesByType('resource')
    .filter(({ name }) => name.startsWith(${JSON.stringify(new URL(portalUrl).origin)}))
    .map(({ name, startTime, responseEnd, transferSize }) =>
      ({ path: new URL(name).pathname, start: startTime, end: responseEnd, bytes: transferSize }))`)) as Loaded[];
    const script = loaded.find(({ path }) => path.endsWith('.js'));
    assert.ok(script);
    assert.ok(script.bytes < firstScriptBytesMax, `${script.bytes} bytes`);
    for (const path of ['/portal/api/overview', '/portal/api/apps']) {
      const reads = loaded.filter((each) => each.path === path);
      assert.equal(reads.length, 1, 'requested once');
      assert.ok(
        (reads[0]?.start ?? Infinity) < script.end,
        'requested next to the script, not after it',
      );
    }
    // Later requests only add to a screen that is already usable.
    const later = loaded.filter(({ start }) => start >= script.end).map(({ path }) => path);
    assert.deepEqual(later.sort(), ['/api/v1/status', '/logo']);
    const scripts = loaded.filter(({ path }) => path.endsWith('.js'));
    assert.equal(scripts.length, 1, 'other pages load when they are opened');
  },
);
