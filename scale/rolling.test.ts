/** An upgrade under load: the release before and this version work next to each other, and one replaces the other. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkLedger } from '../harness/check-ledger.ts';
import { readRecords } from '../harness/ledger.ts';
import { startPrimary, urlOf } from '../harness/postgres.ts';
import { commonEvent } from '../harness/publisher.ts';
import { allianceSlug, startReceivers, type ReceiverAddress } from '../harness/receivers.ts';
import { cleanUpsOf, makeFolder } from '../harness/run.ts';
import { orgdir, root, shortTimes, startService } from '../harness/service.ts';
import type { Env } from '../harness/start-process.ts';
import { drained, openPool, until } from '../harness/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import { installEarlierRelease } from './earlier-release.ts';
import { createTraffic } from './load.ts';

const phaseMs = Number(process.env['SCALE_PHASE_MS'] ?? 1_000);
const requestsPerSecond = 50;
const webhooks = 4;
const drainMs = 60_000;
const owner = 'ada@example.org';
/** An event that the release before does not know. */
const newEvent = 'alliance.updated';

test(
  'processes of the release before are replaced under load without a failed request or a lost delivery',
  { timeout: 900_000 },
  async (t) => {
    const earlier = installEarlierRelease();
    if (earlier === null)
      return t.skip('this clone lacks the commit of the release before, or is that commit');
    const cleanUps = cleanUpsOf(t);
    const databaseUrl = urlOf(await startPrimary('rolling'));
    const secretKey = randomBytes(32);
    const env = {
      ...shortTimes,
      SECRET_KEY: secretKey.toString('base64'),
      DATABASE_URL: databaseUrl,
      RATE_LIMIT_PER_MINUTE: '0',
    };
    const startBoth = async (checkout: string) => {
      const roles = ['api', 'worker'].map((role) =>
        startService({ ...env, ROLES: role }, { checkout }),
      );
      cleanUps.defer(async () => void (await Promise.all(roles.map((each) => each.kill()))));
      const [addresses] = await Promise.all(roles.map(({ started }) => started));
      return {
        roles,
        address: addresses?.address ?? '',
        internalAddress: addresses?.internalAddress ?? '',
      };
    };
    const old = await startBoth(earlier);
    const keys = await createKeys(earlier, env);
    const kinds = [
      { behaviour: 'prompt', webhooks, event: commonEvent },
      { behaviour: 'prompt', name: 'new', webhooks: 1, event: newEvent },
    ] as const;
    const receivers = await startReceivers(kinds, cleanUps);
    const addressesOf = (name: string) => receivers.addresses.filter(({ event }) => event === name);
    const secrets = await createWebhooks(old.address, keys.app, addressesOf(commonEvent));
    await receivers.expect(secrets);
    const traffic = createTraffic(keys, requestsPerSecond);
    traffic.add(old);
    const running = traffic.run();
    await wait(phaseMs);
    await orgdir(['migrate'], env);
    await wait(phaseMs);
    const now = await startBoth(root);
    traffic.add(now);
    const database = openPool(databaseUrl, cleanUps);
    const added = await createWebhooks(now.address, keys.app, addressesOf(newEvent));
    await receivers.expect({ ...secrets, ...added });
    // The worker of the release before leads, so it distributes the event that one of this version makes.
    traffic.committed.add(await changeAlliance(database, old.internalAddress, keys.platform));
    await wait(phaseMs);
    for (const each of old.roles.toReversed()) {
      assert.deepEqual(await each.stop(), { code: 0, signal: null });
      await wait(phaseMs);
    }
    traffic.stop();
    await running;

    await drained(database, drainMs);
    const { counts, wrong } = checkLedger({
      ...(await readRecords(database, createSecretBox([secretKey]))),
      committed: traffic.committed,
      uncertain: new Set(),
      received: await receivers.report(),
      faults: [],
    });
    const { reads, repeated } = traffic.counts;
    t.diagnostic(
      `${reads} pages, ${repeated} requests repeated on another process, ${JSON.stringify(counts)}`,
    );
    assert.deepEqual([...wrong.slice(0, 10), ...traffic.failed.slice(0, 10)], []);
    assert.equal(counts.doubles, 0);
    for (const { roles } of [old, now])
      assert.match(roles[1]?.stdout() ?? '', /delivery\.attempted/);
    for (const each of [...old.roles, ...now.roles])
      assert.doesNotMatch(each.stdout(), /"level":[56]0/);
  },
);

/** With the commands of the release before: the schema is still its own. */
async function createKeys(folder: string, env: Env): Promise<{ platform: string; app: string }> {
  const run = (...args: string[]) => orgdir<{ id: string; key: string }>(args, env, folder);
  const file = join(makeFolder('import'), 'alliances.ndjson');
  writeFileSync(file, `${JSON.stringify({ slug: allianceSlug, name: 'Night Watch' })}\n`);
  await run('import', 'alliances', file);
  await run('managers', 'add', '--email', owner, '--alliance', allianceSlug);
  const bound = ['--owner', owner, '--alliance', allianceSlug];
  const app = await run('apps', 'create', '--name', 'Receivers', ...bound);
  const scopes = ['read:directory', 'write:webhooks'];
  const key = await run('keys', 'create', '--app', app.id, '--scope', ...scopes);
  return { platform: (await run('keys', 'create', '--platform')).key, app: key.key };
}

/** Changes it in a process of the release before. Returns the id of the event once it is distributed. */
async function changeAlliance(database: Database, internalAddress: string, key: string) {
  const response = await fetch(`${internalAddress}/internal/v1/alliances/${allianceSlug}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ description: 'Changed during the upgrade.' }),
  });
  assert.equal(response.status, 200);
  let id: string | undefined;
  await until(`an ${newEvent}`, drainMs, async () => {
    const { rows } = await sql<{ id: string }>`
      select id from events where name = ${newEvent} limit 1
    `.execute(database);
    id = rows[0]?.id;
    return id !== undefined;
  });
  return id as string;
}

/** Returns the secret of each webhook by its path. */
async function createWebhooks(address: string, key: string, addresses: ReceiverAddress[]) {
  const secrets: Record<string, string> = {};
  for (const { event, path, url } of addresses) {
    const response = await fetch(`${address}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url, events: [event] }),
    });
    assert.equal(response.status, 201);
    secrets[path] = ((await response.json()) as { data: { secret: string } }).data.secret;
  }
  return secrets;
}
