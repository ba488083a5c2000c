/** The life of the service as a process on the embedded database: starts, second starts, signals, crashes. */
import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { after, afterEach, suite, test } from 'node:test';
import {
  connectInto,
  embeddedOnly,
  isAlive,
  newMigratedDataDir,
  ready,
  removeDataDir,
  runCommand,
  serverPid,
  startCommand,
  type Command,
} from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { runHere } from '../support/run-here.ts';

/** Twice the five seconds in which a process ends, because a busy machine adds to them. */
const stopWithinMs = 10_000;

/** One folder for all: each test finds what the one before has left there, as an operator would. */
const dataDir = await newMigratedDataDir();
const env = { DATA_DIR: dataDir };
const anyPort = { PORT: '0', INTERNAL_PORT: '0' };
const started: Command[] = [];

function serve(args: string[] = [], more: Record<string, string> = {}): Command {
  const service = startCommand(['serve', ...args], { env: { ...env, ...more } });
  started.push(service);
  return service;
}

afterEach(async () => {
  for (const { pid, ended } of started.splice(0)) {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    await ended;
  }
});
after(() => removeDataDir(dataDir));

async function get(url: string, key: string) {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const body = (await response.json()) as any;
  return { status: response.status, body };
}

async function totals(url: string, key: string): Promise<number[]> {
  const kinds = ['orgs', 'alliances', 'blueprints'];
  const lists = await Promise.all(kinds.map((kind) => get(`${url}/api/v1/${kind}?limit=1`, key)));
  return lists.map(({ body }) => body.pagination.total);
}

async function stopped(service: Command): Promise<void> {
  assert.deepEqual(await service.ended, { code: 0, signal: null }, service.stderr);
  // On a busy machine it may have to be cut, and the server then stops by itself.
  await eventually(async () => (await serverPid(dataDir)) === null);
  assert.equal(service.stderr, '');
}

suite('on one DATA_DIR', { timeout: 600_000, skip: embeddedOnly }, () => {
  let firstKey = '';

  test('a first start loads the demo and prints the address, a key and a curl line that works', async () => {
    const service = serve();
    const { url, key } = await ready(service);
    firstKey = key;
    assert.deepEqual(await totals(url, key), [320, 33, 803]);
    const [, header = '', address = ''] = await service.waitFor(
      /^Try it: +curl -H "Authorization: ([^"]+)" "([^"]+)"$/m,
    );
    const response = await fetch(address, { headers: { authorization: header } });
    assert.equal(response.status, 200);
    assert.equal(((await response.json()) as any).data.length, 3);
    assert.equal((await fetch(`${url}/orgs`)).status, 200, 'the demo has pages for people');
    service.signal('SIGTERM');
    await stopped(service);
  });

  test("a later start has the same key and data; a second one beside it is rejected in one line, commands work, and it survives a restart of the database's backends", async () => {
    const service = serve(['--no-demo']);
    const { url, key } = await ready(service);
    assert.equal(key, firstKey);
    assert.deepEqual(await totals(url, key), [320, 33, 803]);
    assert.equal((await fetch(`${url}/orgs`)).status, 200);
    const second = await runHere(['serve'], { ...env, ...anyPort });
    assert.equal(second.code, 1);
    assert.equal(second.stdout, '');
    assert.match(
      second.stderr,
      /^DATA_DIR \S+ is in use by another orgdir \(service, pid \d+\); .+\n$/,
    );
    assert.ok(second.stderr.includes(`pid ${service.pid}`));
    assert.equal((await get(`${url}/api/v1/orgs`, key)).status, 200);
    const line = JSON.stringify({ slug: 'beside', name: 'Beside' });
    const imported = await runCommand(['import', 'orgs', '-'], { env, input: `${line}\n` });
    assert.equal(imported.code, 0, imported.stderr);
    await eventually(async () => (await get(`${url}/api/v1/orgs/beside`, key)).status === 200);
    assert.notEqual(await serverPid(dataDir), null, 'the service still has its database');

    const client = await connectInto(dataDir);
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name like 'orgdir service%'`,
    );
    // PostgreSQL cannot know what a killed backend has spoilt, so it ends all of them and recovers.
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
    await new Promise<void>((resolve) => client.once('end', resolve));
    await eventually(async () => (await get(`${url}/api/v1/orgs?limit=2`, key)).status === 200);
    await eventually(async () => {
      const again = await connectInto(dataDir).catch(() => null);
      const held = await again
        ?.query(
          `select 1 from pg_locks where locktype = 'advisory' and objid = 70420011 and granted`,
        )
        .catch(() => null);
      await again?.end().catch(() => {});
      return held?.rowCount === 1;
    });
    // As Ctrl-C does.
    service.signal('SIGINT', 'group');
    await stopped(service);
  });

  test('after kill -9, of the database too, the next start has all committed data', async () => {
    const create = (name: string) =>
      runHere(['apps', 'create', '--name', name, '--owner', 'a@example.org'], env);
    const killed = serve();
    await ready(killed);
    const kept = await create('Kept');
    assert.equal(kept.code, 0, kept.stderr);
    killed.signal('SIGKILL');
    await killed.ended;
    assert.notEqual(await serverPid(dataDir), null, 'the database outlives its service');
    const next = serve();
    const { url, key } = await ready(next);
    assert.deepEqual(await totals(url, key), [321, 33, 803]);
    const recovered = await create('Recovered');
    assert.equal(recovered.code, 0, recovered.stderr);
    const postmaster = await serverPid(dataDir);
    assert.ok(postmaster);
    next.signal('SIGKILL');
    process.kill(postmaster, 'SIGKILL');
    await next.ended;
    const last = serve();
    await ready(last);
    assert.match((await runHere(['apps', 'list'], env)).stdout, /Kept[^]*Recovered/);

    process.kill((await serverPid(dataDir)) ?? 0, 'SIGKILL');
    assert.deepEqual(await last.ended, { code: 1, signal: null }, 'it has lost its database');
    assert.match(last.stderr, /^the embedded database has stopped; its log is \S+\n$/);
  });

  test('SIGTERM lets a request in flight end, then stops the database', async () => {
    // Without the worker, which waits for the locked table too.
    const service = serve([], { ROLES: 'api' });
    const { url, key } = await ready(service);
    const blocker = await connectInto(dataDir);
    await blocker.query('begin');
    await blocker.query('lock table orgs in access exclusive mode');
    const answer = get(`${url}/api/v1/orgs?sort=-name`, key);
    await eventually(async () => {
      const waiting = await blocker.query(`select 1 from pg_locks where not granted`);
      return waiting.rowCount === 1;
    });
    const signalledAt = performance.now();
    service.signal('SIGTERM');
    await service.waitFor(/service\.stopping/);
    await blocker.query('rollback');
    assert.equal((await answer).status, 200);
    await stopped(service);
    assert.ok(performance.now() - signalledAt < stopWithinMs);
  });

  test('SIGTERM does not wait for requests that do not end', async () => {
    const service = serve([], { ROLES: 'api' });
    const { url, key } = await ready(service);
    const { hostname, port } = new URL(url);
    const halfSent = connect(Number(port), hostname);
    await once(halfSent, 'connect');
    halfSent.write('GET /api/v1/status HTTP/1.1\r\nHost: x\r\n');
    halfSent.on('error', () => {});
    const blocker = await connectInto(dataDir);
    await blocker.query('begin');
    await blocker.query('lock table orgs in access exclusive mode');
    const answer = get(`${url}/api/v1/orgs?sort=-name`, key).catch(() => 'cut');
    await eventually(async () => {
      const waiting = await blocker.query(`select 1 from pg_locks where not granted`);
      return waiting.rowCount === 1;
    });
    const signalledAt = performance.now();
    service.signal('SIGTERM');
    await stopped(service);
    assert.ok(performance.now() - signalledAt < stopWithinMs);
    await answer;
    halfSent.destroy();
  });

  test('commands work without a service, share the database, and the last one stops it', async () => {
    const line = JSON.stringify({ slug: 'alone', name: 'Alone' });
    const imported = await runCommand(['import', 'orgs', '-'], { env, input: `${line}\n` });
    assert.equal(imported.code, 0, imported.stderr);
    assert.equal(await serverPid(dataDir), null);
    const all = await Promise.all(
      Array.from({ length: 4 }, () => runCommand(['apps', 'list', '--json'], { env })),
    );
    for (const { code, stdout, stderr } of all) {
      assert.equal(code, 0, stderr);
      assert.ok(JSON.parse(stdout).some(({ name }: { name: string }) => name === 'Demo'));
    }
    assert.equal(await serverPid(dataDir), null);
  });

  test('a service can start while a command ends, and one whose database stops reports it in one line', async () => {
    const tool = startCommand(['apps', 'list'], { env, input: '' });
    await tool.waitFor(/Demo/);
    const service = serve();
    await ready(service);
    assert.equal((await tool.ended).code, 0, tool.stderr);

    const late = startCommand(['import', 'orgs', '-'], { env });
    const client = await connectInto(dataDir);
    await eventually(async () => {
      const open = await client.query(
        `select 1 from pg_stat_activity where application_name like 'orgdir tool, pid %' and state = 'idle in transaction'`,
      );
      return open.rowCount === 1;
    });
    // As a terminal that is closed does.
    service.signal('SIGHUP', 'group');
    assert.deepEqual(await service.ended, { code: 0, signal: null }, service.stderr);
    assert.equal(service.stderr, '');
    late.end(`${JSON.stringify({ name: 'Late' })}\n`);
    assert.equal((await late.ended).code, 1);
    assert.match(late.stderr, /^the connection to the database was lost.+\n$/);
    assert.equal(await serverPid(dataDir), null);
  });

  test('an interrupted command keeps nothing and stops the database', async () => {
    const tool = startCommand(['import', 'orgs', '-'], { env });
    await eventually(async () => {
      const client = await connectInto(dataDir).catch(() => null);
      const open = await client?.query(
        `select 1 from pg_stat_activity where application_name like 'orgdir tool, pid %' and state = 'idle in transaction'`,
      );
      await client?.end();
      return open?.rowCount === 1;
    });
    tool.signal('SIGINT', 'group');
    const { code } = await tool.ended;
    assert.equal(code, 130);
    assert.equal(tool.stderr, '');
    assert.equal(await serverPid(dataDir), null);
  });

  test('a port in use is reported in one line, and the database is stopped', async () => {
    const holder = createServer();
    holder.listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const service = await runHere(['serve'], { ...env, ...anyPort, PORT: String(port) });
    holder.close();
    assert.equal(service.code, 1);
    assert.match(
      service.stderr,
      new RegExp(`^PORT ${port} on 127\\.0\\.0\\.1 is used by another .+\\n$`),
    );
    assert.equal(await serverPid(dataDir), null);
  });

  test('an address of another machine is reported in one line', async () => {
    for (const host of ['192.0.2.1', 'no-such-host.invalid', 'fe80::1']) {
      const service = await runHere(['serve'], { ...env, ...anyPort, HOST: host });
      assert.equal(service.code, 1);
      assert.match(service.stderr, /^HOST .+ for example HOST=127\.0\.0\.1\n$/);
    }
    assert.equal(await serverPid(dataDir), null);
  });
});
