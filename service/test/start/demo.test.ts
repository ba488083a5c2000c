import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { hasDemo, loadDemoOnce, readDemoKey } from '../../src/start/demo.ts';
import { openTestDatabase } from '../support/database.ts';

const { database } = await openTestDatabase();

test('the demo data can be imported and has varied names and quantities', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'orgdir-demo-'));
  t.after(() => rm(dataDir, { recursive: true }));
  await loadDemoOnce(database, { dataDir, wanted: true, publicUrl: '' });
  assert.notEqual(await readDemoKey(database, dataDir), null);
  const { rows } = await sql<Record<string, number>>`
    select (select count(*) from orgs) as orgs, (select count(*) from alliances) as alliances,
      (select count(*) from blueprints) as blueprints,
      (select count(*) from orgs where name ~ '[^\x20-\x7e]') as unicode,
      (select count(*) from orgs where name like '%,%') as commas,
      (select count(*) from orgs o where slug ~ '-2$'
        and exists (select from orgs first where first.slug = left(o.slug, -2))) as twins,
      (select count(*) from blueprints where (output ->> 'quantity')::numeric = 0) as nothing,
      (select count(*) from orgs where alliance_id is not null) as members
  `.execute(database);
  const counts = rows[0]!;
  assert.deepEqual([counts['orgs'], counts['alliances'], counts['blueprints']], [320, 33, 803]);
  for (const name of ['unicode', 'commas', 'twins', 'nothing', 'members'])
    assert.ok((counts[name] ?? 0) > 0, name);
});

test('whether a database has the demo data is known at every start', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'orgdir-demo-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const empty = await openTestDatabase();
  for (const wanted of [false, true]) {
    await loadDemoOnce(empty.database, { dataDir, wanted, publicUrl: '' });
    assert.equal(await hasDemo(empty.database), false, 'the first start decides');
  }
  assert.equal(await hasDemo(database), true);
});
