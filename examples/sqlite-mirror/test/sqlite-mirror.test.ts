import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../../client/test/support/program.ts';
import { sql } from '../../../service/src/database/database.ts';
import { blueprint, put } from '../../../service/test/support/directory.ts';
import { eventually } from '../../../service/test/support/eventually.ts';
import { startTestService } from '../../../service/test/support/service.ts';

const service = await startTestService();
const folder = await mkdtemp(join(tmpdir(), 'orgdir-sqlite-'));
after(() => rm(folder, { recursive: true, force: true }));
const file = join(folder, 'directory.sqlite');

async function startMirror() {
  const program = startProgram(fileURLToPath(new URL('../src/main.ts', import.meta.url)), {
    env: {
      ORGDIR_URL: service.url,
      ORGDIR_API_KEY: service.key,
      DATABASE_FILE: file,
      POLL_MS: '100',
    },
  });
  await program.prints(/keeping the copy right/);
  return program;
}

/** The names in the copy. */
function namesOf(kind: string): string[] {
  const copy = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = copy.prepare(`select entry->>'name' as name from ${kind} order by name`).all();
    return rows.map(({ name }) => String(name));
  } finally {
    copy.close();
  }
}
const becomes = (kind: string, names: string[]) =>
  eventually(async () => JSON.stringify(namesOf(kind)) === JSON.stringify(names));

test('the copy follows the directory, also after it was stopped', async () => {
  const { database } = service;
  await put(database, 'orgs', [
    { slug: 'acme', name: 'Acme' },
    { slug: 'beta', name: 'Beta' },
    { slug: 'hidden', name: 'Hidden', listed: false },
  ]);
  await put(database, 'blueprints', [blueprint({ key: 'granite', name: 'Granite' })]);
  await service.settled();
  const first = await startMirror();
  await becomes('blueprints', ['Granite']);
  await becomes('orgs', ['Acme', 'Beta']);
  await put(database, 'orgs', [{ slug: 'gamma', name: 'Gamma' }]);
  await becomes('orgs', ['Acme', 'Beta', 'Gamma']);
  first.interrupt();
  assert.equal(await first.ended, 0, first.output());
  await sql`update orgs set listed = false where slug = 'acme'`.execute(database);
  await sql`delete from orgs where slug = 'beta'`.execute(database);
  await put(database, 'orgs', [{ slug: 'gamma', name: 'Gamma two' }]);
  await service.settled();
  const second = await startMirror();
  await becomes('orgs', ['Gamma two']);
  await second.stop();
});
