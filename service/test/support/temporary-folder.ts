import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** The end of the test or the file that makes it removes it. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-test-'));
  after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
