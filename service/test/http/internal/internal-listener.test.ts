/** The internal listener: what it serves, to whom, and that none of it is on the public port. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { Usage } from '../../../src/access/usage.ts';
import { loadConfig } from '../../../src/settings/config.ts';
import { sql, type Database } from '../../../src/database/database.ts';
import { createInternalApp } from '../../../src/http/internal-app.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createReadinessCheck, failingMaxMs } from '../../../src/system/health.ts';
import { createPing, createQueueReader } from '../../../src/system/queue-state.ts';
import { runCommand, startCommand, type Command } from '../../support/command.ts';
import { openCuttableDatabase } from '../../support/cuttable-database.ts';
import { openTestDatabase, toUrl } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { rawRequest, sendBytes } from '../../support/raw-request.ts';
import { startTestService } from '../../support/service.ts';

const opened = await openTestDatabase();
const { url } = await startListener(opened.database);
const options = { timeout: 300_000 };

async function startListener(database: Database, env: Record<string, string> = {}) {
  const metrics = createMetrics();
  metrics.queue(createQueueReader(database, 30), createPing(database));
  const readiness = createReadinessCheck(database);
  const { allowedHosts } = loadConfig(env).internal;
  const log = createLogger('silent');
  const usage = new Usage(database, log);
  const app = createInternalApp({ metrics, usage, readiness, log, allowedHosts, api: null });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  after(() => app.close());
  return { url: address, metrics, readiness };
}

async function readyz(base: string): Promise<{ status: number; body: any }> {
  const response = await fetch(`${base}/readyz`);
  return { status: response.status, body: await response.json() };
}

const paths = ['/metrics', '/livez', '/readyz'];
const loading = (indexes: string[]) => ({ kind: 'loading', indexes });

test('metrics are served in Prometheus’ text format, to GET and HEAD', async () => {
  const response = await fetch(`${url}/metrics`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const text = await response.text();
  assert.match(text, /^orgdir_deliveries_due 0$/m);
  assert.match(text, /^orgdir_database_up 1$/m);
  for (const path of paths) {
    const head = await fetch(url + path, { method: 'HEAD' });
    assert.equal(head.status, 200, path);
    assert.equal(await head.text(), '');
  }
});

test('other requests are rejected with an envelope', async () => {
  const missing = await rawRequest(url, { path: '/api/v1/status' });
  assert.equal(missing.status, 404);
  assert.equal(JSON.parse(missing.text).error.code, 'not_found');
  for (const path of paths) {
    const body = Buffer.alloc(100_000);
    const refused = await rawRequest(url, { method: 'POST', path, body });
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.allow, 'GET, HEAD, OPTIONS');
    assert.equal(JSON.parse(refused.text).error.code, 'method_not_allowed');
  }
  const strange = await rawRequest(url, { path: '/%ff' });
  assert.equal(JSON.parse(strange.text).error.code, 'not_found');
});

test('a malformed request or one with too many headers is rejected, and the connection closed', async () => {
  assert.match(
    await sendBytes(url, 'no request\r\n\r\n'),
    /^HTTP\/1\.1 400 .+"validation_failed"/s,
  );
  const long = `GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`;
  assert.match(await sendBytes(url, long), /^HTTP\/1\.1 400 .+16 KiB of headers/s);
});

const everywhere = [...paths, '/internal/v1/orgs', '/nothing'];

test('a host name that is not allowed is rejected, so DNS rebinding reads nothing', async () => {
  const names = ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '127.1'];
  const malformed = [
    '127.0.0.1, localhost',
    'localhost:80:80',
    '::1',
    '[::1',
    '[localhost]',
    '[::g]',
  ];
  for (const host of [...names, ...malformed, 'evil.example:3001', 'orgdir-worker'])
    for (const path of everywhere)
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const { status, text } = await rawRequest(url, { method, path, headers: { host } });
        assert.equal(status, 403, `${method} ${path} ${host}`);
        assert.deepEqual(JSON.parse(text).error, {
          code: 'forbidden',
          message:
            'The name in the Host header is not allowed. Use the IP address, or add the name to INTERNAL_ALLOWED_HOSTS.',
          details: {},
        });
      }
  const nameless = await sendBytes(
    url,
    'GET /livez HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n',
  );
  assert.match(nameless, /^HTTP\/1\.1 403 /);
  const absolute = { path: 'http://evil.example/livez', headers: { host: '127.0.0.1' } };
  assert.equal((await rawRequest(url, absolute)).status, 403, 'the host of the target counts');
});

test('IP addresses, allowed names and requests without a Host are accepted', async () => {
  const env = { INTERNAL_ALLOWED_HOSTS: 'orgdir-worker, Orgdir-Worker.default.svc.cluster.local.' };
  const listed = await startListener(opened.database, env);
  const named = await startListener(opened.database, { INTERNAL_HOST: 'Metrics.example' });
  const addresses = ['127.0.0.1', '127.0.0.1:3001', '10.0.0.1.', '[::1]', '[2001:db8::1]:3001'];
  for (const [base, hosts] of [
    [url, [...addresses, 'localhost', 'LOCALHOST:3001', 'localhost.', 'localhost.:3001']],
    [listed.url, [...addresses, 'orgdir-worker:3001', 'orgdir-worker.default.svc.cluster.local']],
    [named.url, [...addresses, 'localhost', 'metrics.example:3001']],
  ] as const)
    for (const host of hosts)
      assert.equal(
        (await rawRequest(base, { path: '/livez', headers: { host } })).status,
        200,
        host,
      );
  const unlisted = { path: '/livez', headers: { host: 'localhost' } };
  assert.equal(
    (await rawRequest(listed.url, unlisted)).status,
    403,
    'the list replaces the default',
  );
  // Browsers always send a Host; HTTP/1.1 demands it, HTTP/1.0 does not.
  assert.match(await sendBytes(url, 'GET /livez HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
});

test('a process is ready if all its migrations are applied, even with newer ones', async () => {
  const behind = await openTestDatabase();
  const listener = await startListener(behind.database);
  const ready = { success: true, data: { ready: true }, meta: { apiVersion: 'v1' } };
  assert.deepEqual(await readyz(listener.url), { status: 200, body: ready });
  await sql`insert into migrations (name, checksum) values ('9999_newer.sql', '')`.execute(
    behind.database,
  );
  const last = await sql<{ name: string }>`
    delete from migrations where name = (select max(name) from migrations where name < '9999')
    returning name`.execute(behind.database);
  const { status, body } = await eventually(async () => {
    const answer = await readyz(listener.url);
    return answer.status === 503 && answer;
  });
  assert.equal(status, 503);
  assert.equal(body.error.code, 'unavailable');
  assert.deepEqual(body.error.details, {
    reason: 'outdated',
    migrations: [last.rows[0]?.name],
  });
  await sql`insert into migrations (name, checksum) values (${last.rows[0]?.name}, '')`.execute(
    behind.database,
  );
  await eventually(async () => (await readyz(listener.url)).status === 200);
});

test('without a database the process is live but not ready', async () => {
  const { opened: cuttable, cut, stall, mend } = await openCuttableDatabase();
  const listener = await startListener(cuttable.database);
  assert.equal((await readyz(listener.url)).status, 200);
  for (const harm of [stall, cut]) {
    harm();
    const { body } = await eventually(async () => {
      const answer = await readyz(listener.url);
      return answer.status === 503 && answer;
    });
    assert.equal(body.error.details.reason, 'unreachable');
    assert.equal((await fetch(`${listener.url}/livez`)).status, 200);
  }
  const text = await (await fetch(`${listener.url}/metrics`)).text();
  assert.match(text, /^orgdir_database_up 0$/m);
  assert.doesNotMatch(text, /^orgdir_deliveries_due /m);
  assert.match(text, /^process_resident_memory_bytes \d/m);
  mend();
  await eventually(async () => (await readyz(listener.url)).status === 200);
});

test('an api process is ready once its search indexes are loaded', async () => {
  const service = await startTestService();
  const base = await service.internalApp.listen({ host: '127.0.0.1', port: 0 });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const holding = service.database.transaction().execute(async (tx) => {
    await sql`lock table searchable_blueprints`.execute(tx);
    lock();
    await released;
  });
  await locked;
  service.search.start();
  await eventually(async () => service.search.loading().indexes.length === 1);
  const { status, body } = await readyz(base);
  assert.equal(status, 503);
  assert.deepEqual(body.error, {
    code: 'unavailable',
    message: 'The search indexes are being loaded after the start.',
    details: { reason: 'loading', indexes: ['blueprints'] },
  });
  assert.equal((await service.call('/orgs?search=nothing')).status, 200);
  release();
  await holding;
  await eventually(async () => (await readyz(base)).status === 200);
});

test('an index that cannot be loaded is tried again, and keeps a process from work for a minute', async () => {
  const service = await startTestService();
  await sql`alter table searchable_orgs rename to away`.execute(service.database);
  let passedMs = 0;
  const readiness = createReadinessCheck(
    service.database,
    () => service.search.loading(),
    () => performance.now() + passedMs,
  );
  const all = loading(['orgs', 'alliances', 'blueprints']);
  assert.deepEqual(await readiness.check(), all);
  passedMs = failingMaxMs;
  assert.deepEqual(await readiness.check(), all, 'it only takes long');
  service.search.start();
  await eventually(async () => service.search.loading().failingSince !== null);
  passedMs = 0;
  assert.deepEqual(await readiness.check(), all);
  passedMs = failingMaxMs;
  assert.deepEqual(await readiness.check(), { kind: 'ready' });
  passedMs = 0;
  await sql`alter table away rename to searchable_orgs`.execute(service.database);
  await eventually(async () => (await readiness.check()).kind === 'ready');
});

test('the minute in which loading may fail begins when the database responds', async () => {
  const { opened: cuttable, cut, mend } = await openCuttableDatabase();
  let now = 0;
  const readiness = createReadinessCheck(
    cuttable.database,
    () => ({ indexes: ['orgs'], failingSince: 0 }),
    () => now,
  );
  assert.deepEqual(await readiness.check(), loading(['orgs']));
  cut();
  await eventually(async () => (await readiness.check()).kind === 'unreachable');
  now = failingMaxMs;
  mend();
  await eventually(async () => (await readiness.check()).kind !== 'unreachable');
  assert.deepEqual(await readiness.check(), loading(['orgs']));
});

test('a stopping process is not ready', async () => {
  const listener = await startListener(opened.database);
  listener.readiness.stop();
  const { status, body } = await readyz(listener.url);
  assert.equal(status, 503);
  assert.equal(body.error.details.reason, 'stopping');
  assert.equal((await fetch(`${listener.url}/livez`)).status, 200);
});

const env = {
  DATABASE_URL: toUrl(opened.connection),
  SECRET_KEY: randomBytes(32).toString('base64'),
};

test(
  'a worker-only process has an internal listener, also on a system-chosen port',
  options,
  async () => {
    const service = startCommand(['serve'], { env: { ...env, ROLES: 'worker' } });
    try {
      const [, address] = await service.waitFor(/^Metrics: +(http:\S+)$/m);
      assert.match(await (await fetch(address as string)).text(), /^orgdir_database_up 1$/m);
      assert.doesNotMatch(service.stdout, /Serving at/);
    } finally {
      service.signal('SIGTERM');
      assert.deepEqual(await service.ended, { code: 0, signal: null });
    }
  },
);

test('an open connection of a scraper does not delay the stop', options, async () => {
  const service: Command = startCommand(['serve'], { env });
  const [, address = ''] = await service.waitFor(/^Metrics: +(http:\S+)$/m);
  // `fetch` keeps it open.
  await (await fetch(address)).text();
  service.signal('SIGTERM');
  assert.deepEqual(await service.ended, { code: 0, signal: null });
});

test('an unusable internal address is reported in one line', options, async () => {
  const holder = createServer();
  holder.listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const taken = await runCommand(['serve'], { env: { ...env, INTERNAL_PORT: String(port) } });
  holder.close();
  assert.equal(taken.code, 1);
  assert.match(
    taken.stderr,
    new RegExp(
      `^INTERNAL_PORT ${port} on 127\\.0\\.0\\.1 is used by another .+ INTERNAL_PORT=\\d+\\n$`,
    ),
  );
  const foreign = await runCommand(['serve'], { env: { ...env, INTERNAL_HOST: '192.0.2.1' } });
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /^INTERNAL_HOST .+ for example INTERNAL_HOST=127\.0\.0\.1\n$/);
});
