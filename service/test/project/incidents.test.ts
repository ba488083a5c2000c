/**
 * Incidents are found with the commands of docs/operations.md, in at most three steps. A full disk: `faults/disk.test.ts`. A
 * replica that is behind: `scale/replicas.test.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { sql } from '../../src/database/database.ts';
import { toUrl } from '../support/database.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { noJq, whatFails, whichReceivers } from '../support/incidents.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runHere } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';

const options = { skip: noJq };
const fast = { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' };

/** A service whose log is kept. */
async function start(more: Parameters<typeof startTestService>[0] = {}) {
  let log = '';
  const logger = pino({ base: null }, { write: (line: string) => (log += line) });
  const service = await startTestService({ worker: true, log: logger, env: fast, ...more });
  const internal = await startInternalApi(service);
  const env = { DATABASE_URL: toUrl(service.connection) };
  return {
    service,
    log: () => log,
    addWebhook: async (url: string) => {
      const { body } = await service.call('/webhooks', { method: 'POST', json: { url } });
      return body.data.id as string;
    },
    announce: (slug: string) =>
      internal.call(`/orgs/${slug}`, { method: 'PUT', json: { name: slug } }),
    run: async (...words: string[]) => {
      const { code, stdout, stderr } = await runHere(words, env);
      assert.equal(code, 0, stderr);
      return stdout;
    },
  };
}

test('a receiver that is down', options, async () => {
  const { service, addWebhook, announce, run, log } = await start();
  const works = await startReceiver();
  await addWebhook(works.url);
  // Nobody listens there.
  const port = await freePort();
  const id = await addWebhook(`http://127.0.0.1:${port}/`);
  await announce('acme');
  await eventually(async () => /"verdict":"failed"/.test(log()) && works.received.length > 0);
  assert.deepEqual(whichReceivers(log()), [`6 127.0.0.1:${port} connect`]);
  await eventually(async () => (await run('webhooks', 'list', '--health', 'failing')).includes(id));
  assert.ok((await run('webhooks', 'list', '--health', 'failing')).includes(service.appId));
});

test('a name server that is dead', options, async () => {
  const dns = await startDnsServer(() => 'SERVFAIL');
  const { addWebhook, announce, log } = await start({
    senderOptions: { nameServers: [dns.address] },
  });
  for (const host of ['one.example.org', 'two.example.org', 'three.example.org'])
    await addWebhook(`https://${host}/`);
  await announce('acme');
  await eventually(async () => log().match(/"verdict":"failed"/g)?.length === 3);
  assert.deepEqual(whichReceivers(log()).toSorted(), [
    '6 one.example.org dns',
    '6 three.example.org dns',
    '6 two.example.org dns',
  ]);
});

test('a key that somebody else uses', options, async () => {
  const { service, run } = await start();
  const [quiet, loud] = [await makeKey(service), await makeKey(service)];
  await service.call('/orgs', { key: quiet.key });
  for (let requests = 0; requests < 20; requests += 1)
    await service.call('/orgs', { key: loud.key });
  await eventually(async () => {
    await service.usage.stop();
    return /\s20\s/.test(await run('usage'));
  });
  const [, first = ''] = (await run('usage')).split('\n');
  assert.match(first, new RegExp(`^${loud.appId}\\s.*\\s20\\s`));
  const byKey = (await run('usage', '--app', loud.appId)).split('\n\n').at(-1) ?? '';
  assert.match(byKey, new RegExp(`\\n${loud.keyId}\\s.*\\s20\\s`));
  await run('keys', 'revoke', loud.keyId);
  await eventually(async () => (await service.call('/orgs', { key: loud.key })).status === 401);
});

test(
  'requests that fail are ten lines a second, and the next line says how many more there were',
  options,
  async (t) => {
    const { service, log } = await start();
    await service.call('/orgs');
    await sql`alter table orgs rename to orgs_elsewhere`.execute(service.database);
    // A second of its own, which ends when the test says.
    let nowMs = Math.ceil(performance.now() / 1_000) * 1_000 + 1_000;
    const now = t.mock.method(performance, 'now', () => nowMs);
    for (let requests = 0; requests < 100; requests += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, n) => service.call(`/orgs?page=${requests + n + 2}`)),
      );
    nowMs += 1_000;
    await service.call('/orgs?page=1000');
    now.mock.restore();
    const lines = log()
      .split('\n')
      .filter((line) => line.includes('request.failed'));
    assert.deepEqual(
      lines.map((line) => Number(/"unlogged":(\d+)/.exec(line)?.[1] ?? 0)),
      [...Array.from({ length: 10 }, () => 0), 90],
    );
    const [most = ''] = whatFails(log());
    assert.match(
      most,
      /^\d+ request\.failed \/api\/v1\/orgs internal_error .*orgs.* does not exist$/,
    );
  },
);
