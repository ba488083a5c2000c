/** The service on a PostgreSQL of the operator's. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { newDataDir, removeDataDir, runCommand, startCommand } from '../support/command.ts';
import { runHere } from '../support/run-here.ts';

const { connection } = await openTestDatabase();
const DATABASE_URL = toUrl(connection);
const SECRET_KEY = randomBytes(32).toString('base64');
const dataDir = await newDataDir();
after(() => removeDataDir(dataDir));
const options = { timeout: 300_000 };

test('with DATABASE_URL, two processes serve without demo data and DATA_DIR', options, async () => {
  const env = { DATABASE_URL, SECRET_KEY, DATA_DIR: dataDir };
  const both = [startCommand(['serve'], { env }), startCommand(['serve'], { env })];
  try {
    for (const service of both) {
      const [, url] = await service.waitFor(/^Serving at (\S+)/m);
      const status = (await (await fetch(`${url}/api/v1/status`)).json()) as any;
      assert.deepEqual(status.data.counts, { orgs: 0, alliances: 0, blueprints: 0 });
      assert.equal(status.data.components.database, 'ok');
    }
  } finally {
    for (const service of both) service.signal('SIGTERM');
  }
  for (const service of both) {
    assert.deepEqual(await service.ended, { code: 0, signal: null });
    assert.equal(service.stderr, '');
    assert.doesNotMatch(service.stdout, /Demo key/);
  }
  await assert.rejects(readdir(dataDir), { code: 'ENOENT' });
});

test(
  'a missing SECRET_KEY is reported in one line, before the database is used',
  options,
  async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/nowhere' };
    const { code, stderr } = await runCommand(['serve'], { env });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^SECRET_KEY is required with DATABASE_URL: .+ openssl rand -base64 32\n$/,
    );
  },
);

async function refused(url: string): Promise<string> {
  const env = { DATABASE_URL: url, SECRET_KEY, PORT: '0', INTERNAL_PORT: '0' };
  const { code, stdout, stderr } = await runHere(['serve'], env);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^DATABASE_URL .+\n$/);
  assert.doesNotMatch(stderr, /hunter2/);
  return stderr;
}

test('an unavailable server is reported in one line, without the password', options, async () => {
  const line = await refused('postgres://orgdir:hunter2@127.0.0.1:1/orgdir');
  assert.match(line, /\(ECONNREFUSED\): \S/);
  assert.match(await refused('postgres://orgdir:hunter2@localhost:1/orgdir'), /: \S/);
  assert.match(
    await refused('postgres://orgdir:hunter2@no-such-host.invalid/orgdir'),
    /no-such-host/,
  );
  await refused('postgres:///orgdir?host=/nowhere&user=orgdir&password=hunter2');
  await refused('postgres://orgdir:hunter2%zz@127.0.0.1:1/orgdir');
});

test('a wrong password or a missing database is reported in one line', options, async (t) => {
  const missing = new URL(DATABASE_URL);
  missing.pathname = '/no_such_database';
  assert.match(await refused(missing.href), /\(3D000\): .*no_such_database/);
  if (connection.connectionString !== undefined) return t.skip('this server asks for no password');
  const none = new URL(DATABASE_URL);
  none.searchParams.delete('password');
  assert.match(await refused(none.href), /: it asks for a password, and the address has none$/m);
  none.searchParams.set('password', 'hunter2');
  assert.match(await refused(none.href), /\(28P01\): password authentication failed/);
});

test(
  'a certificate that cannot be used is reported in one line, with what to do',
  options,
  async () => {
    const folder = new URL('../support/tls/', import.meta.url);
    const trusted = fileURLToPath(new URL('authority.pem', folder));
    const key = await readFile(new URL('server-key.pem', folder));
    for (const [name, words] of [
      ['self-signed.pem', /sslrootcert in the address$/m],
      [
        'expired.pem',
        /\(CERT_HAS_EXPIRED\): its certificate has expired; renew it on the server$/m,
      ],
    ] as const) {
      const cert = await readFile(new URL(name, folder));
      const server = createServer((socket) => {
        // PostgreSQL's answer to a request for TLS.
        socket.once('data', () => {
          socket.write('S');
          const secure = new TLSSocket(socket, { isServer: true, key, cert });
          secure.on('error', () => {});
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const address = `postgres://orgdir:hunter2@127.0.0.1:${port}/orgdir?sslmode=require`;
      assert.match(await refused(`${address}&sslrootcert=${trusted}`), words);
      server.close();
    }
  },
);

test('a server that is not PostgreSQL is reported in one line', options, async (t) => {
  const other = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  t.after(() => other.close());
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await refused(`postgres://orgdir:hunter2@127.0.0.1:${port}/orgdir`);
});
