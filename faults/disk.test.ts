/** A full disk: the database rejects writes or exits, and continues when there is space again. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { noJq, whatFails } from '../service/test/support/incidents.ts';
import { scenario } from './scenario.ts';

const requestsBefore = 1_500;
/** Space for the database's files and some of its write-ahead log. */
const diskBytes = 256 * 2 ** 20;
/** Long enough for more than one write to fail. */
const fullMs = 3_000;
const fills = 2;

scenario(
  'a full disk, twice',
  { skip: whyNoMount(), mount: mountDisk, publishEveryMs: 100 },
  async ({ store, ...scene }) => {
    await scene.startWorkers(1);
    const filler = join(store.clusterDir, 'filler');
    for (let time = 1; time <= fills; time += 1) {
      await scene.faultAfter(requestsBefore, async () => {
        fill(filler);
        await wait(fullMs);
        rmSync(filler);
        // If it could not write its write-ahead log, it has exited.
        if (!(await store.isRunning())) await store.start();
      });
    }
    const [worker] = scene.processes;
    if (noJq || !worker) return;
    const found = whatFails(worker.stdout());
    assert.ok(
      found.some((line) => line.includes('No space left on device')),
      found.join('\n'),
    );
  },
);

/** Fills the disk. */
function fill(file: string): void {
  const chunk = Buffer.alloc(2 ** 20);
  for (const size of [chunk.length, 4096]) {
    try {
      for (;;) writeFileSync(file, chunk.subarray(0, size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  if (statfsSync(file).bfree > 0) throw new Error('the disk is not full');
}

function mountDisk(path: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=700`, 'tmpfs', path]);
}

function whyNoMount(): string | false {
  if (process.getuid?.() !== 0) return 'only root may mount a small disk';
  const path = mkdtempSync(join(tmpdir(), 'orgdir-mount-'));
  mkdirSync(path, { recursive: true });
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path]);
  if (status === 0) spawnSync('umount', [path]);
  rmdirSync(path);
  return status === 0 ? false : 'this machine does not let root mount a small disk';
}
