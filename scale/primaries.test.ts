/** Two servers that both accept writes. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, startPrimary, urlOf, type PostgresServer } from '../harness/postgres.ts';
import { cleanUpsOf } from '../harness/run.ts';
import { startApi } from '../harness/service.ts';
import { openPool, readValue } from '../harness/world.ts';
import { sql } from '../service/src/database/database.ts';
import { fires, noPromtool, scrape } from '../service/test/support/alerts.ts';
import { eventually } from '../service/test/support/eventually.ts';

test('two primaries stop the start, and one that missed a promotion is not used', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const [first, second] = [await startPrimary('first'), await createServer('second')];
  const databases = { DATABASE_URL: urlOf(first, second) };
  await second.follow(first);
  await second.kill();
  rmSync(join(second.data, 'standby.signal'));
  await second.start();
  const refused = startApi(databases, cleanUps);
  assert.equal((await refused.ended).code, 1);
  assert.match(
    refused.stderr(),
    /DATABASE_URL names two primaries, 127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+; stop the wrong one/,
  );

  await second.kill();
  await second.follow(first);
  await second.promote();
  await startApi(databases, cleanUps).started;
  assert.equal(await countConnections(first, cleanUps), 0);
  assert.ok((await countConnections(second, cleanUps)) > 0);
});

test('a promoted standby, and the old primary that still accepts writes, make their alerts fire', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const [first, second] = [await startPrimary('old'), await createServer('new')];
  await second.follow(first);
  const { internalAddress } = await startApi({ DATABASE_URL: urlOf(first, second) }, cleanUps)
    .started;
  const before = await scrape(internalAddress);
  assert.equal(valueOf(before, 'orgdir_database_other_primaries'), 0);
  await second.promote();
  const during = await eventually(async () => {
    const now = await scrape(internalAddress);
    return valueOf(now, 'orgdir_database_other_primaries') === 1 && now;
  });
  assert.equal(valueOf(during, 'orgdir_database_moves_total'), 1);
  if (noPromtool) return;
  assert.ok(fires('OrgdirTwoPrimaries', [before, during], 2));
  assert.ok(fires('OrgdirDatabaseMoved', [before, during], 1));
});

function valueOf(scraped: Map<string, number>, name: string): number | undefined {
  return [...scraped].find(([each]) => each.startsWith(`${name}{`))?.[1];
}

/** Without those that only ask a server whether it accepts writes. */
async function countConnections(
  server: PostgresServer,
  cleanUps: AsyncDisposableStack,
): Promise<number> {
  const count = sql`
    select count(*) as value from pg_stat_activity
    where application_name like 'orgdir%' and application_name not like 'orgdir probe%'
  `;
  return readValue(openPool(urlOf(server), cleanUps), count);
}
