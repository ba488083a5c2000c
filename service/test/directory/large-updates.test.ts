/** Writers of the directory wait for each other, so none may take longer than its own rows do. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { deleteAlliance, patchAlliance } from '../../src/directory/write-entry.ts';
import { listBindable } from '../../src/directory/bindable.ts';
import { openDatabase, sql, type Executor } from '../../src/database/database.ts';
import { put } from '../support/directory.ts';
import { testActor } from '../support/actor.ts';
import { openTestDatabase } from '../support/database.ts';

const few = 500;
const many = 8 * few;
const rounds = 3;
/** On a busy machine, the longer statement may be disturbed in each of a few rounds. */
const roundsMax = 20;

const { database, connection } = await openTestDatabase();
const rows = Array.from({ length: many }, (_, number) => ({
  slug: `org-${number}`,
  name: `Organisation ${number}`,
  listed: number > 0,
}));
await put(database, 'orgs', rows);
await sql`analyze`.execute(database);

async function countMember(on: Executor, orgs: number): Promise<number> {
  const startedAt = performance.now();
  await sql`
    update orgs set member_count = member_count + 1 where id in (select id from orgs order by id limit ${orgs})
  `.execute(on);
  return performance.now() - startedAt;
}

test('a change of eight times as many organisations takes about eight times as long', async () => {
  await database.connection().execute(async (session) => {
    // Functions keep the plans of their first call in a session, which is for one organisation here.
    await countMember(session, 1);
    const took = { few: Infinity, many: Infinity };
    // Comparing each row with each takes 64 times as long.
    const isTooLong = () => took.many >= 24 * took.few;
    for (let round = 0; round < rounds || (round < roundsMax && isTooLong()); round += 1) {
      took.few = Math.min(took.few, await countMember(session, few));
      took.many = Math.min(took.many, await countMember(session, many));
    }
    assert.ok(!isTooLong(), JSON.stringify(took));
  });
});

// One connection, because each counts what it reads, and says so at its own times.
const one = openDatabase(connection, { applicationName: 'test', poolSize: 1 });
after(() => one.destroy());

/** Rows of a table that sequential scans read. */
async function scannedBy(table: string, act: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(one);
    const { rows: found } = await sql<{ count: number }>`
      select seq_tup_read as count from pg_stat_user_tables where relname = ${table}
    `.execute(one);
    return found[0]?.count ?? Number.NaN;
  };
  const before = await read();
  await act();
  return (await read()) - before;
}

test('a write of an alliance reads its members, and not all organisations', async () => {
  await put(one, 'alliances', [{ slug: 'league', name: 'League' }]);
  await sql`analyze`.execute(one);
  const options = { actor: testActor, publicUrl: 'https://example.org', check: () => {} };
  const scanned = await scannedBy('orgs', () =>
    one.transaction().execute(async (tx) => {
      await patchAlliance(tx, 'league', { orgs: ['org-1', 'org-2'] }, options);
      await patchAlliance(tx, 'league', { orgs: ['org-2', 'org-3'] }, options);
      await deleteAlliance(tx, 'league', options);
    }),
  );
  assert.equal(scanned, 0);
});

test('what somebody manages is found without reading all managers', async () => {
  await sql`
    insert into org_managers (org_id, email) select id, 'm' || ordinal || '@example.org' from searchable_orgs
  `.execute(one);
  await sql`analyze org_managers`.execute(one);
  const search = { find: () => Promise.resolve(null) };
  const scanned = await scannedBy('org_managers', () =>
    listBindable({ database: one, search }, 'm1@example.org', { page: 1, limit: 10 }),
  );
  assert.equal(scanned, 0);
});
