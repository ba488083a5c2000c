/** An upgrade under load: the release before and this version work next to each other, and one replaces the other. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkLedger } from '../faults/check-ledger.ts';
import { allianceSlug } from '../faults/behaviours.ts';
import { readRecords } from '../faults/ledger.ts';
import { startReceivers, type ReceiverAddress } from '../faults/receivers.ts';
import { runFolder } from '../faults/run-folder.ts';
import { startWorkerProcess } from '../faults/worker-process.ts';
import { drained, shortTimes } from '../faults/world.ts';
import { openDatabase } from '../service/src/database/database.ts';
import { addressesOf } from './addresses.ts';
import { installEarlierRelease } from './earlier-release.ts';
import { startPrimary, urlOf } from './postgres.ts';
import { createTraffic } from './traffic.ts';

const phaseMs = Number(process.env['SCALE_PHASE_MS'] ?? 1_000);
const requestsPerSecond = 50;
const webhooks = 4;
const owner = 'ada@example.org';
const own = fileURLToPath(new URL('..', import.meta.url));

type Env = Record<string, string>;
type Keys = { platform: string; app: string };

test(
  'processes of the release before are replaced under load without a failed request or a lost delivery',
  { timeout: 900_000 },
  async (t) => {
    const earlier = installEarlierRelease();
    if (earlier === null)
      return t.skip('this clone lacks the commit of the release before, or is that commit');
    const databaseUrl = urlOf(await startPrimary('rolling'));
    const env = {
      ...shortTimes,
      SECRET_KEY: randomBytes(32).toString('base64'),
      DATABASE_URL: databaseUrl,
      RATE_LIMIT_PER_MINUTE: '0',
    };
    const start = async (folder: string, role: string) => {
      const started = startWorkerProcess(
        [],
        { ...env, ROLES: role },
        { command: commandIn(folder) },
      );
      t.after(() => started.kill());
      await started.started;
      return started;
    };
    const startBoth = async (folder: string) => {
      const [api, worker] = await Promise.all([start(folder, 'api'), start(folder, 'worker')]);
      return { api, worker };
    };
    const old = await startBoth(earlier);
    const keys = await createKeys(earlier, env);
    const receivers = await startReceivers([
      { behaviour: 'prompt', webhooks, event: 'resource.request.created' },
    ]);
    t.after(() => receivers.stop());
    receivers.sendSecrets(
      await createWebhooks(addressesOf(old.api).address, keys.app, receivers.addresses),
    );
    const traffic = createTraffic(keys, requestsPerSecond);
    traffic.add(addressesOf(old.api));
    const running = traffic.run();
    await wait(phaseMs);
    await orgdir(own, env, 'migrate');
    await wait(phaseMs);
    const now = await startBoth(own);
    traffic.add(addressesOf(now.api));
    await wait(phaseMs);
    for (const each of [old.worker, old.api]) {
      each.signal('SIGTERM');
      assert.deepEqual(await each.ended, { code: 0, signal: null });
      await wait(phaseMs);
    }
    traffic.stop();
    await running;

    const database = openDatabase(
      { connectionString: databaseUrl },
      { applicationName: 'harness' },
    );
    t.after(() => database.destroy());
    await drained(database);
    const { counts, wrong } = checkLedger({
      ...(await readRecords(database)),
      committed: traffic.committed,
      uncertain: new Set(),
      received: await receivers.report(),
      faults: [],
    });
    t.diagnostic(
      `${traffic.reads()} pages, ${traffic.repeated()} requests repeated on another process, ${JSON.stringify(counts)}`,
    );
    assert.deepEqual([...wrong.slice(0, 10), ...traffic.failed.slice(0, 10)], []);
    assert.equal(counts.doubles, 0);
    for (const each of [old.worker, now.worker]) assert.match(each.stdout(), /delivery\.attempted/);
    for (const each of [old.api, old.worker, now.api, now.worker])
      assert.doesNotMatch(each.stdout(), /"level":[56]0/);
  },
);

function commandIn(folder: string): string {
  return join(folder, 'service/bin/orgdir.js');
}

async function orgdir(folder: string, env: Env, ...words: string[]): Promise<any> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [commandIn(folder), ...words, '--json'],
    { env: { PATH: process.env['PATH'] ?? '', ...env }, cwd: '/' },
  );
  return JSON.parse(stdout);
}

/** With the commands of the release before: the schema is still its own. */
async function createKeys(folder: string, env: Env): Promise<Keys> {
  const run = (...words: string[]) => orgdir(folder, env, ...words);
  const file = join(runFolder(), 'alliances.ndjson');
  writeFileSync(file, `${JSON.stringify({ slug: allianceSlug, name: 'Night Watch' })}\n`);
  await run('import', 'alliances', file);
  await run('managers', 'add', '--email', owner, '--alliance', allianceSlug);
  const appWords = ['--name', 'Receivers', '--owner', owner, '--alliance', allianceSlug];
  const app = await run('apps', 'create', ...appWords);
  const scopes = ['read:directory', 'write:webhooks'];
  const key = await run('keys', 'create', '--app', app.id, '--scope', ...scopes);
  return { platform: (await run('keys', 'create', '--platform')).key, app: key.key };
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
