/** Two servers that both accept writes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startWorkerProcess, type WorkerProcess } from '../faults/worker-process.ts';
import { shortTimes } from '../faults/world.ts';
import { openDatabase, sql } from '../service/src/database/database.ts';
import { createServer, startPrimary, urlOf, type PostgresServer } from './postgres.ts';

test('two primaries stop the start, and one that missed a promotion is not used', async (t) => {
  const [first, second] = [await startPrimary('first'), await createServer('second')];
  await second.follow(first);
  await second.kill();
  rmSync(join(second.data, 'standby.signal'));
  await second.start();
  const refused = startApi(first, second);
  t.after(() => refused.kill());
  assert.equal((await refused.ended).code, 1);
  assert.match(
    refused.stderr(),
    /DATABASE_URL names two primaries, 127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+; stop the wrong one/,
  );

  await second.kill();
  await second.follow(first);
  await second.promote();
  const api = startApi(first, second);
  t.after(() => api.kill());
  await api.started;
  assert.equal(await countConnections(first), 0);
  assert.ok((await countConnections(second)) > 0);
});

function startApi(...servers: PostgresServer[]): WorkerProcess {
  return startWorkerProcess([], {
    ...shortTimes,
    ROLES: 'api',
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: urlOf(...servers),
  });
}

/** Without those that only ask a server whether it accepts writes. */
async function countConnections(server: PostgresServer): Promise<number> {
  const connection = { connectionString: urlOf(server) };
  const database = openDatabase(connection, { applicationName: 'scale harness' });
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where application_name like 'orgdir%' and application_name not like 'orgdir probe%'
  `.execute(database);
  await database.destroy();
  return rows[0]?.count ?? 0;
}
