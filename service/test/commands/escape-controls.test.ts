/** Text of others on a terminal and in logs: nothing in it ends a line, steers a terminal or turns text around. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { escapeControls } from '@orgdir/client/command/escape-controls';
import { createApp } from '../../src/access/apps.ts';
import { createKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { enableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { announce, put } from '../support/directory.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { database, connection } = await openTestDatabase();
const folder = await temporaryFolder();
const env = { DATABASE_URL: toUrl(connection), DATA_DIR: folder };

const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const all = Array.from({ length: 0xffff }, (_, index) => String.fromCharCode(index + 1));
const name = `Her${all.filter((character) => unsafe.test(character)).join('')}ald`;

test('unsafe characters become JSON escapes, and JSON keeps its value', () => {
  assert.equal(escapeControls('é 😀 ﷺ \\u2028'), 'é 😀 ﷺ \\u2028');
  assert.equal(
    escapeControls('\u001b[2J\r\n\t\u0085\u009b\u2028\u2029\u202e\u2066'),
    String.raw`\u001b[2J\u000d\u000a\u0009\u0085\u009b\u2028\u2029\u202e\u2066`,
  );
  const everything = all.join('');
  assert.doesNotMatch(escapeControls(everything), unsafe);
  assert.equal(JSON.parse(escapeControls(JSON.stringify(everything))), everything);
});

test('no command prints unsafe characters, as text or JSON', async () => {
  await put(database, 'orgs', [{ slug: 'acme', name }]);
  await announce(database);
  await sql`update events set data = replace(data, '{', E'{\n\t')`.execute(database);
  await database.transaction().execute(async (tx) => {
    const id = await createApp(tx, testActor, { name: 'Herald', owner: 'ada@example.org' });
    const key = { name: 'Server', scopes: ['read:events'], expiresAt: null };
    await createKey(tx, testActor, { appId: id, ...key });
    // From before such names were refused.
    await sql`update apps set name = ${name}`.execute(tx);
    await sql`update api_keys set name = ${name}`.execute(tx);
  });
  await enableMaintenance(database, testActor, { message: name, expectedEnd: null });
  const badLine = join(folder, 'bad.ndjson');
  await writeFile(badLine, `${JSON.stringify({ name: 'Acme', [name]: 1 })}\n`);
  for (const words of [
    ['apps', 'list'],
    ['keys', 'list'],
    ['audit', 'list'],
    ['events', 'list'],
    ['export', 'orgs'],
    ['import', 'orgs', badLine],
    ['managers', 'add', '--org', name, '--email', 'ada@example.org'],
  ])
    for (const flags of [[], ['--json']]) {
      const { stdout, stderr } = await runHere([...words, ...flags], env);
      const text = stdout + stderr;
      const label = [...words.slice(0, 2), ...flags].join(' ');
      // The lines of a table, and no more.
      assert.doesNotMatch(text.replaceAll('\n', ''), unsafe, label);
      // The text output of events list shows no data.
      if (label !== 'events list') assert.match(text, /\\u001b/, label);
      if (flags.length === 0) continue;
      assert.match(text, /^.*\n$/, `one line: ${label}`);
      assert.doesNotThrow(() => JSON.parse(text), label);
    }
});
