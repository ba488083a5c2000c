/** The heap of a separate process: small at rest, and growing under load. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const orgdir = fileURLToPath(new URL('../../bin/orgdir.js', import.meta.url));
const heap = new URL('../../src/runtime/heap.ts', import.meta.url).href;
const mib = 1024 * 1024;

/** Creates objects of which many survive for a while, and returns the size of the young generation with both halves. */
const fill = `
  import { getHeapSpaceStatistics } from 'node:v8';
  export function fill() {
    const kept = [];
    for (let index = 0; index < 3_000_000; index += 1) kept[index % 50_000] = { index, pair: [index, index] };
    return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  }`;
const fillUrl = JSON.stringify(`data:text/javascript,${encodeURIComponent(fill)}`);

test('a command keeps the size of the young generation', async () => {
  const [firstLine = ''] = (await readFile(orgdir, 'utf8')).split('\n');
  const most = Number(/--max-semi-space-size=(\d+)/.exec(firstLine)?.[1]);
  const atExit = `import { fill } from ${fillUrl}; process.on('exit', () => console.log('filled', fill()));`;
  const { stdout } = await run(orgdir, ['--version'], {
    env: {
      ...process.env,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(atExit)}`,
    },
  });
  const filled = Number(/^filled (\d+)$/m.exec(stdout)?.[1]);
  // Both halves together: what it would be, had only one of them grown to its bound.
  assert.ok(filled < most * mib, `${filled} with ${firstLine}`);
});

test('the young generation grows under load', async () => {
  const script = `
    import v8 from 'node:v8';
    import { fill } from ${fillUrl};
    import { sizeHeapForLoad } from '${heap}';
    v8.setFlagsFromString('--semi-space-growth-factor=1');
    const before = fill();
    sizeHeapForLoad();
    console.log(JSON.stringify([before, fill()]));`;
  const { stdout } = await run(process.execPath, [
    '--min-semi-space-size=2',
    '--max-semi-space-size=16',
    '--input-type=module',
    '--eval',
    script,
  ]);
  const [before = 0, after = 0] = JSON.parse(stdout) as number[];
  assert.ok(before < 16 * mib && after >= 16 * mib, `${before}, then ${after}`);
});

test('the old generation is collected sooner under load', async () => {
  const script = `
    import v8 from 'node:v8';
    import { sizeHeapForLoad } from '${heap}';
    const live = Array.from({ length: 200_000 }, (_, index) => ({ index, pair: [index, index] }));
    const usedMib = () => v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size / ${mib};
    /** The most that is used while objects live on for a while, and are then garbage. */
    function most() {
      const kept = [];
      let most = 0;
      for (let index = 0; index < 6_000_000; index += 1) {
        kept[index % 100_000] = { index, pair: [index, index] };
        if (index % 50_000 === 0) most = Math.max(most, usedMib());
      }
      return most;
    }
    const before = most();
    sizeHeapForLoad();
    // The bound that was set before it is reached once more.
    most();
    console.log(JSON.stringify([before, most(), live.length]));`;
  const { stdout } = await run(process.execPath, [
    '--min-semi-space-size=2',
    '--max-semi-space-size=2',
    '--input-type=module',
    '--eval',
    script,
  ]);
  const [before = 0, after = 0] = JSON.parse(stdout) as number[];
  assert.ok(after < 0.7 * before, `${before}, then ${after} MiB`);
});

test('memory that is not in use any more is given back', async () => {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { collectGarbage } from '${heap}';
    // The young generation keeps what it has grown to.
    const oldMib = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_size / ${mib};
    let left = Array.from({ length: 1_000_000 }, (_, index) => ({ index, pair: [index, index] }));
    const before = oldMib();
    left = null;
    await collectGarbage();
    console.log(JSON.stringify([before, oldMib()]));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  const [before = 0, after = 0] = JSON.parse(stdout) as number[];
  assert.ok(after < before / 2, `${before}, then ${after} MiB`);
});
