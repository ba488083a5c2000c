/**
 * Many processes behind PgBouncer in transaction mode: few connections to the server, and nothing is lost when the pooler
 * is killed, paused or replaces its connections.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { allianceSlug, commonEvent } from '../faults/behaviours.ts';
import { checkLedger } from '../faults/check-ledger.ts';
import { createWebhooks } from '../faults/create-webhooks.ts';
import { readRecords, type Fault } from '../faults/ledger.ts';
import { startReceivers } from '../faults/receivers.ts';
import { startWorkerProcess } from '../faults/worker-process.ts';
import { drained, shortTimes } from '../faults/world.ts';
import { createPlatformKey } from '../service/src/access/keys.ts';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { connectQuery } from '../service/src/database/pooler.ts';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import { addressesOf } from './addresses.ts';
import { createLoad } from './load.ts';
import { createPooler, isPoolerMissing } from './pooler.ts';
import { startPrimary, urlOf } from './postgres.ts';

const processCount = Number(process.env['SCALE_PROCESSES'] ?? 4);
const eventsPerSecond = Number(process.env['SCALE_EVENTS_PER_SECOND'] ?? 200);
const poolSize = 16;
/** The server still counts a connection for a moment after the pooler has replaced it. */
const endingMax = 4;
const faultMs = Number(process.env['SCALE_FAULT_MS'] ?? 1_500);
const aftermathMs = 1_000;
const sampleMs = 25;
const actor = { kind: 'system', id: null, name: 'scale' } as const;
const skip = isPoolerMissing();

test(
  `${processCount} processes behind a pooler that is killed, paused and replaces its connections`,
  { timeout: 900_000, skip },
  async (t) => {
    const primary = await startPrimary('pooled');
    const pooler = await createPooler('pooler', primary, { server_lifetime: '1' });
    const direct = urlOf(primary);
    const opened = await openConfiguredDatabase(
      { databaseUrl: direct, databaseDirectUrl: null, dataDir: '' },
      { purpose: 'tool', applicationName: 'scale harness' },
    );
    t.after(() => opened.close());
    const { database } = opened;
    // The pooler's settings come after those of the role.
    await sql`alter role orgdir set datestyle = 'SQL, DMY'`.execute(database);
    await sql`alter role orgdir set extra_float_digits = -15`.execute(database);
    await sql`alter role orgdir set array_nulls = off`.execute(database);
    await pooler.start();
    t.after(() => pooler.kill());
    const key = randomBytes(32);
    const receivers = await startReceivers([
      { behaviour: 'prompt', webhooks: 4, event: commonEvent },
    ]);
    t.after(() => receivers.stop());
    receivers.sendSecrets(
      await createWebhooks(database, createSecretBox([key]), receivers.addresses),
    );
    const { key: platformKey } = await database
      .transaction()
      .execute((tx) => createPlatformKey(tx, actor, { name: 'Load', expiresAt: null }));
    const connections = await watchConnections(direct);
    const env = {
      ...shortTimes,
      SECRET_KEY: key.toString('base64'),
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: direct,
    };
    const processes = Array.from({ length: processCount }, (_, index) =>
      startWorkerProcess([], { ...env, ROLES: index % 4 === 0 ? 'api' : 'worker' }),
    );
    t.after(() => Promise.all(processes.map((each) => each.kill())));
    await Promise.all(processes.map(({ started }) => started));
    const [api] = processes;
    assert.ok(api);
    const load = createLoad(addressesOf(api).internalAddress, {
      key: platformKey,
      alliances: [allianceSlug],
      eventsPerSecond,
    });
    const running = load.run();
    const faults: Fault[] = [];

    async function during(break_: () => Promise<unknown>, mend: () => Promise<unknown>) {
      await wait(faultMs);
      const from = Date.now();
      await break_();
      await wait(faultMs);
      await mend();
      await load.acknowledged();
      faults.push({ from, until: Date.now() + aftermathMs });
    }

    await during(
      () => pooler.kill(),
      () => pooler.start(),
    );
    await during(
      () => pooler.command('pause'),
      () => pooler.command('resume'),
    );
    await during(
      () => pooler.command('reconnect'),
      () => pooler.command('reconnect'),
    );
    load.pause();
    await running;
    await load.close();
    await drained(database);
    const { counts, wrong } = checkLedger({
      ...(await readRecords(database)),
      committed: load.committed,
      uncertain: new Set(),
      received: await receivers.report(),
      faults,
    });
    const { total, pooled } = await connections.end();
    t.diagnostic(
      `at most ${total} connections to the server, ${pooled} of them the pooler's, ${JSON.stringify(counts)}, refused requests: ${load.refused()}`,
    );
    assert.deepEqual([...wrong.slice(0, 10), ...load.wrong.slice(0, 10)], []);
    assert.ok(total - pooled <= processCount);
    assert.ok(total <= poolSize + processCount + endingMax);
  },
);

/** Counts the connections of the service to the server, again and again. */
async function watchConnections(url: string) {
  const database = openDatabase({ connectionString: url }, { applicationName: 'scale watch' });
  const most = { total: 0, pooled: 0 };
  let ended = false;
  const watching = (async () => {
    for (; !ended; await wait(sampleMs)) {
      const { total, pooled } = await countConnections(database);
      most.total = Math.max(most.total, total);
      most.pooled = Math.max(most.pooled, pooled);
    }
  })();
  return {
    async end() {
      ended = true;
      await watching;
      await database.destroy();
      return most;
    },
  };
}

async function countConnections(database: Database) {
  const { rows } = await sql<{ total: number; pooled: number }>`
    select count(*)::int as total, count(*) filter (where application_name !~ '^orgdir .*pid')::int as pooled
    from pg_stat_activity where usename = current_user and backend_type = 'client backend' and application_name not like 'scale%'
  `.execute(database);
  return rows[0] ?? { total: 0, pooled: 0 };
}

test(
  'an unsuitable pooler stops the start with one line',
  { timeout: 300_000, skip },
  async (t) => {
    const [primary, other] = [await startPrimary('behind'), await startPrimary('elsewhere')];
    const good = await createPooler('good', primary);
    const statement = await createPooler('statement', primary, { pool_mode: 'statement' });
    const unprepared = await createPooler('unprepared', primary, { max_prepared_statements: '0' });
    const bare = await createPooler('bare', primary, {}, 'select 1');
    const incomplete = await createPooler(
      'incomplete',
      primary,
      {},
      connectQuery.replace(/set row_security[^;]*; |set lock_timeout[^;]*; /g, ''),
    );
    for (const each of [good, statement, unprepared, bare, incomplete]) {
      await each.start();
      t.after(() => each.kill());
    }
    const direct = urlOf(primary);
    const cases: [Record<string, string>, RegExp][] = [
      [{ DATABASE_URL: good.url }, /^DATABASE_URL leads to a pooler .* set DATABASE_DIRECT_URL/],
      [
        { DATABASE_URL: good.url, DATABASE_DIRECT_URL: good.url },
        /^DATABASE_DIRECT_URL leads to a pooler/,
      ],
      [
        { DATABASE_URL: good.url, DATABASE_DIRECT_URL: urlOf(other) },
        /^DATABASE_DIRECT_URL points to another database/,
      ],
      [
        { DATABASE_URL: direct, DATABASE_DIRECT_URL: direct },
        /^DATABASE_URL does not lead to a pooler/,
      ],
      [{ DATABASE_URL: statement.url, DATABASE_DIRECT_URL: direct }, /is in statement mode/],
      [
        { DATABASE_URL: unprepared.url, DATABASE_DIRECT_URL: direct },
        /does not support prepared statements/,
      ],
      [
        { DATABASE_URL: bare.url, DATABASE_DIRECT_URL: direct },
        /does not set search_path.*connect_query=/,
      ],
      [
        { DATABASE_URL: incomplete.url, DATABASE_DIRECT_URL: direct },
        /does not set row_security, lock_timeout; .*connect_query=/,
      ],
    ];
    for (const [addresses, line] of cases) {
      const service = startWorkerProcess([], {
        ...shortTimes,
        SECRET_KEY: randomBytes(32).toString('base64'),
        ...addresses,
      });
      assert.equal((await service.ended).code, 1);
      assert.match(service.stderr(), line);
      assert.match(service.stderr(), /^[^\n]+\n$/);
    }
  },
);
