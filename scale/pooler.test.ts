/**
 * Many processes behind PgBouncer in transaction mode: few connections to the server, and nothing is lost when the pooler
 * is killed, paused or replaces its connections.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkLedger } from '../harness/check-ledger.ts';
import { startPrimary, urlOf } from '../harness/postgres.ts';
import { commonEvent } from '../harness/publisher.ts';
import { allianceSlug } from '../harness/receivers.ts';
import { cleanUpsOf } from '../harness/run.ts';
import { startApi } from '../harness/service.ts';
import { makePlatformKey } from '../harness/subscribers.ts';
import { openPool, openServer, openWorld } from '../harness/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { connectQuery } from '../service/src/database/pooler.ts';
import { createLoad } from './load.ts';
import { createPooler, isPoolerMissing } from './pooler.ts';

const processCount = Number(process.env['SCALE_PROCESSES'] ?? 4);
const perSecond = Number(process.env['SCALE_EVENTS_PER_SECOND'] ?? 200);
const poolSize = 16;
/** The server still counts a connection for a moment after the pooler has replaced it. */
const endingMax = 4;
const faultMs = Number(process.env['SCALE_FAULT_MS'] ?? 1_500);
const sampleMs = 25;
const skip = isPoolerMissing();

test(
  `${processCount} processes behind a pooler that is killed, paused and replaces its connections`,
  { timeout: 900_000, skip },
  async (t) => {
    const cleanUps = cleanUpsOf(t);
    const primary = await startPrimary('pooled');
    const pooler = await createPooler('pooler', primary, { server_lifetime: '1' });
    const direct = urlOf(primary);
    const database = await openServer(direct, cleanUps);
    // The pooler's settings come after those of the role.
    await sql`alter role orgdir set datestyle = 'SQL, DMY'`.execute(database);
    await sql`alter role orgdir set extra_float_digits = -15`.execute(database);
    await sql`alter role orgdir set array_nulls = off`.execute(database);
    await pooler.start();
    cleanUps.defer(() => pooler.kill());
    const kinds = [{ behaviour: 'prompt', webhooks: 4, event: commonEvent }] as const;
    const world = await openWorld(database, { kinds }, cleanUps);
    const endOfWatch = watchConnections(openPool(direct, cleanUps));
    const databases = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: direct };
    for (let index = 0; index < processCount; index += 1)
      world.start({ ...databases, ROLES: index % 4 === 0 ? 'api' : 'worker' });
    const [first] = await Promise.all(world.processes.map(({ started }) => started));
    const load = createLoad(first?.internalAddress ?? '', {
      key: await makePlatformKey(database),
      alliances: [allianceSlug],
      perSecond,
    });
    const running = load.run();

    const command = (name: string) => () => pooler.command(name);
    for (const [breakIt, mend] of [
      [pooler.kill, pooler.start],
      [command('pause'), command('resume')],
      [command('reconnect'), command('reconnect')],
    ] as const) {
      await wait(faultMs);
      await world.fault(async () => {
        await breakIt();
        await wait(faultMs);
        await mend();
        await load.acknowledged();
      });
    }
    load.pause();
    await running;
    await load.close();
    await world.drained();
    const { counts, wrong } = checkLedger(await world.ledger(load.committed));
    const { total, pooled } = await endOfWatch();
    t.diagnostic(
      `at most ${total} connections to the server, ${pooled} of them the pooler's, ${JSON.stringify(counts)}, refused requests: ${load.refused()}`,
    );
    assert.deepEqual([...wrong.slice(0, 10), ...load.wrong.slice(0, 10)], []);
    assert.ok(total - pooled <= processCount);
    assert.ok(total <= poolSize + processCount + endingMax);
  },
);

/** Counts the connections of the service to the server, again and again. Returns how to end it. */
function watchConnections(database: Database) {
  const most = { total: 0, pooled: 0 };
  const ending = new AbortController();
  const watching = (async () => {
    for (; !ending.signal.aborted; await wait(sampleMs)) {
      const { total, pooled } = await countConnections(database);
      most.total = Math.max(most.total, total);
      most.pooled = Math.max(most.pooled, pooled);
    }
  })();
  return async () => {
    ending.abort();
    await watching;
    return most;
  };
}

async function countConnections(database: Database) {
  const { rows } = await sql<{ total: number; pooled: number }>`
    select count(*)::int as total, count(*) filter (where application_name !~ '^orgdir .*pid')::int as pooled
    from pg_stat_activity where usename = current_user and backend_type = 'client backend' and application_name not like 'harness%'
  `.execute(database);
  return rows[0] ?? { total: 0, pooled: 0 };
}

test(
  'an unsuitable pooler stops the start with one line',
  { timeout: 300_000, skip },
  async (t) => {
    const cleanUps = cleanUpsOf(t);
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
      cleanUps.defer(() => each.kill());
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
      const service = startApi(addresses, cleanUps);
      assert.equal((await service.ended).code, 1);
      assert.match(service.stderr(), line);
      assert.match(service.stderr(), /^[^\n]+\n$/);
    }
  },
);
