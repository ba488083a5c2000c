/** Migrations that run next to the processes of the version before: docs/decisions/0031-releases-and-upgrades.md. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { locksFile } from '../../src/database/apply-migration.ts';
import { oldestAfter } from '../../src/database/migrate.ts';
import { createDatabase, dropDatabase, testServer, withName } from '../support/database.ts';
import { describeMigrations, type MigrationDescription } from '../support/describe-migrations.ts';

/** Each takes something away from processes of the version before. */
const broken = {
  '9001_drop.sql': 'alter table webhooks drop column url;',
  '9002_rename.sql': 'alter table apps rename column name to title;',
  '9005_check.sql': `alter table operational_events add check (kind <> 'x') not valid;`,
  '9006_narrow.sql': `alter table webhook_outcomes drop constraint webhook_outcomes_verdict_check, add constraint webhook_outcomes_verdict_check check (verdict in ('succeeded', 'failed')) not valid;`,
  '9007_function.sql': 'drop function uuid_v7_hour(uuid);',
};
const brokenAndSlow = {
  '9051_type.sql': 'alter table apps alter column title type varchar(80);',
  '9052_required.sql': 'alter table apps add column colour text not null;',
  '9053_key.sql': 'alter table apps add unique (title);',
};
const slow = {
  '9101_read.sql': 'alter table deliveries add column z integer check (z > 0);',
  '9102_rewrite.sql': 'alter table events add column at timestamptz default clock_timestamp();',
  '9103_index.sql': 'create index on attempts (started_at);',
  '9104_move.sql': 'lock table apps; update webhooks set active = active;',
};
const good = {
  '9200_contract_9053_drop.sql': 'alter table apps drop column title;',
  '9201_column.sql':
    'alter table deliveries add column note text, add column n integer not null default 0;',
  '9202_table.sql': 'create table notes (id uuid primary key, delivery_id uuid not null);',
  '9203_wider.sql': `alter table webhook_outcomes drop constraint webhook_outcomes_verdict_check, add constraint webhook_outcomes_verdict_check check (verdict in ('succeeded', 'failed', 'other')) not valid;`,
  '9206_index.sql': 'create index concurrently deliveries_9206 on deliveries (event_id);',
  '9204_update.sql': 'update webhooks set active = active;',
  '9205_validate.sql':
    'alter table operational_events validate constraint operational_events_kind_check1;',
};

const name = `orgdir_test_${randomUUID().replaceAll('-', '')}`;
await createDatabase(name, 'template0');
after(() => dropDatabase(name));
const all = await describeMigrations(withName(testServer(), name), {
  ...broken,
  ...brokenAndSlow,
  ...slow,
  ...good,
});
const own = all.filter((each) => each.name < '9');

test('locks.json has the locks of the migrations after the baseline', async () => {
  const locks = Object.fromEntries(own.map((each) => [each.name, each.locks]));
  const current = `${JSON.stringify(locks, null, 2)}\n`;
  // npm run schema
  if (process.env['WRITE_SCHEMA'] === 'true') await writeFile(locksFile, current);
  assert.equal(current, await readFile(locksFile, 'utf8'), 'run: npm run schema');
});

test('no migration locks a table while it reads, indexes or rewrites one', () => {
  const found = all.filter(({ locks }) => isSlow(locks)).map((each) => each.name);
  assert.deepEqual(found, Object.keys({ ...brokenAndSlow, ...slow }));
});

test('processes of the version before can use the schema, or the migration is a contract step', () => {
  const found = all.filter((each) => each.breaks.length > 0 && oldestAfter(each.name) === '');
  assert.deepEqual(
    found.map((each) => each.name),
    Object.keys({ ...broken, ...brokenAndSlow }),
    JSON.stringify(found, null, 2),
  );
});

test('a contract step names an earlier migration', () => {
  for (const each of own) assert.ok(oldestAfter(each.name) < each.name.slice(0, 4), each.name);
});

function isSlow(locks: MigrationDescription['locks']): boolean {
  const tables = Object.values(locks);
  return tables.some(({ blocks }) => blocks) && tables.some(({ work }) => work);
}
