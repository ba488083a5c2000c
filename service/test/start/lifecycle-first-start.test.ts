/** First starts that are killed, race or meet odd folders. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import {
  connectInto,
  embeddedOnly,
  isAlive,
  newDataDir,
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
import { loopbackAllowed } from '../support/receiver.ts';

const options = { timeout: 300_000, skip: embeddedOnly };
const isRoot = process.getuid?.() === 0;
const rootOnly = isRoot ? embeddedOnly : 'only root runs the database as another user';
const dataDirs: string[] = [];
const started: Command[] = [];

async function freshDataDir(name?: string): Promise<string> {
  const dataDir = await newDataDir(name);
  dataDirs.push(dataDir);
  return dataDir;
}

async function migratedDataDir(): Promise<string> {
  const dataDir = await newMigratedDataDir();
  dataDirs.push(dataDir);
  return dataDir;
}

function serve(dataDir: string, ...args: string[]): Command {
  const service = startCommand(['serve', ...args], { env: { DATA_DIR: dataDir } });
  started.push(service);
  return service;
}

afterEach(async () => {
  for (const { pid, ended } of started.splice(0)) {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    await ended;
  }
});
after(() => Promise.all(dataDirs.map(removeDataDir)));

async function totals({ url, key }: { url: string; key: string }): Promise<number[]> {
  const lists = ['orgs', 'alliances', 'blueprints'].map(async (kind) => {
    const response = await fetch(`${url}/api/v1/${kind}?limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return ((await response.json()) as any).pagination.total as number;
  });
  return Promise.all(lists);
}

async function stop(service: Command, dataDir: string): Promise<void> {
  service.signal('SIGTERM');
  assert.deepEqual(await service.ended, { code: 0, signal: null }, service.stderr);
  // On a busy machine it may have to be cut, and the server then stops by itself.
  await eventually(async () => (await serverPid(dataDir)) === null);
}

async function has(folder: string, pattern: RegExp): Promise<boolean> {
  return (await readdir(folder)).some((name) => pattern.test(name));
}

async function asks(dataDir: string, query: string): Promise<boolean> {
  const client = await connectInto(dataDir).catch(() => null);
  const answer = await client?.query(query).catch(() => null);
  await client?.end().catch(() => {});
  return answer?.rowCount === 1;
}

const moments: [string, (dataDir: string) => Promise<boolean>][] = [
  ['while the database is made', (dataDir) => has(dataDir, /^postgres\..+unfinished$/)],
  ['when the database has just been made', (dataDir) => has(dataDir, /^postgres$/)],
  ['while the server starts', (dataDir) => has(dataDir, /^postgres\.log$|^run$/)],
  [
    'while migrations run',
    (dataDir) => asks(dataDir, `select 1 where to_regclass('orgdir.migrations') is not null`),
  ],
  [
    'while the demo loads',
    (dataDir) =>
      asks(
        dataDir,
        `select distinct 1 from pg_locks where relation = to_regclass('orgdir.orgs') and mode = 'RowExclusiveLock'`,
      ),
  ],
  ['just before the demo is committed', (dataDir) => has(dataDir, /^demo-key$/)],
];

/** The service stands still while it is looked at: on a busy machine, the moment would be over before the answer. */
function stepUntil(service: Command, holds: () => Promise<boolean>): Promise<boolean> {
  return eventually(async () => {
    service.signal('SIGSTOP');
    if (await holds()) return true;
    service.signal('SIGCONT');
    return false;
  });
}

test('a repeatedly killed first start is completed by the next one', options, async () => {
  const dataDir = await freshDataDir();
  await mkdir(dataDir);
  for (const [name, holds] of moments) {
    const service = serve(dataDir);
    await Promise.race([
      stepUntil(service, () => holds(dataDir)),
      service.ended.then(() => assert.fail(`ended ${name}: ${service.stderr}`)),
      service.waitFor(/^Serving at/m).then(() => assert.fail(`ready and not met ${name}`)),
    ]);
    service.signal('SIGKILL');
    assert.equal((await service.ended).signal, 'SIGKILL', name);
    assert.doesNotMatch(service.stdout, /Serving at/, `${name}: it was no longer the first start`);
  }
  const last = serve(dataDir);
  const found = await ready(last);
  assert.deepEqual(await totals(found), [320, 33, 803]);
  await stop(last, dataDir);
  const left = (await readdir(dataDir)).filter((name) => name.includes('unfinished'));
  assert.deepEqual(left, [], 'nothing half-made is left');
});

test(
  'of two concurrent first starts, one serves and the other reports why not',
  options,
  async () => {
    const dataDir = await freshDataDir();
    const both = [serve(dataDir), serve(dataDir)];
    const outcomes = both.map((service) =>
      Promise.race([ready(service).catch(() => null), service.ended.then(() => null)]),
    );
    const refused = await Promise.race(
      both.map(async (service) => {
        await service.ended;
        return service;
      }),
    );
    assert.match(refused.stderr, /^DATA_DIR \S+ is in use by another orgdir .+\n$/);
    assert.equal((await refused.ended).code, 1);
    const served = (await Promise.all(outcomes)).filter((outcome) => outcome !== null);
    assert.equal(served.length, 1);
    assert.deepEqual(await totals(served[0]!), [320, 33, 803]);
    await stop(
      both.find((service) => service !== refused)!,
      dataDir,
    );
  },
);

test(
  'a first start without demo data prints a link for the first account, also of this DATA_DIR under another path no second one starts, and a later start prints neither',
  options,
  async () => {
    const dataDir = await migratedDataDir();
    const first = serve(dataDir, '--no-demo');
    const [, url = ''] = await first.waitFor(/^Serving at (\S+)/m);
    const [, portal = ''] = await first.waitFor(/^Portal: +(\S+)$/m);
    const [, link = ''] = await first.waitFor(/^First account \(.+\): (\S+)$/m);
    assert.ok(link.startsWith(`${portal}/`), `${link} is a page of ${portal}`);
    const { origin, pathname, hash } = new URL(link);
    const page = await fetch(`${url}${pathname}`);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<div id="root">/);
    // As the page does.
    const made = await fetch(`${url}/portal/api/first-account`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({
        token: hash.slice(1),
        email: 'first@example.org',
        name: 'First',
        password: 'correct horse battery staple',
      }),
    });
    assert.equal(made.status, 201);
    const other = join(dirname(dataDir), 'link');
    await symlink(dataDir, other);
    const second = await runHere(['serve'], { DATA_DIR: other });
    assert.equal(second.code, 1);
    assert.match(second.stderr, /^DATA_DIR \S+ is in use by another orgdir .+\n$/);
    assert.notEqual(await serverPid(dataDir), null, 'its pid file is still there');
    await stop(first, dataDir);
    assert.doesNotMatch(first.stdout, /Demo key|Try it/);
    const later = serve(dataDir);
    const [, laterUrl] = await later.waitFor(/^Serving at (\S+)/m);
    const { data } = (await (await fetch(`${laterUrl}/api/v1/status`)).json()) as any;
    assert.deepEqual(data.counts, { orgs: 0, alliances: 0, blueprints: 0 });
    await stop(later, dataDir);
    assert.doesNotMatch(later.stdout, /Demo key|First account/);
  },
);

test('the demo data is not mixed with an imported directory', options, async () => {
  const dataDir = await migratedDataDir();
  const input = `${JSON.stringify({ name: 'Ours' })}\n`;
  const imported = await runCommand(['import', 'orgs', '-'], { env: { DATA_DIR: dataDir }, input });
  assert.equal(imported.code, 0, imported.stderr);
  const service = serve(dataDir);
  const [, url] = await service.waitFor(/^Serving at (\S+)/m);
  const { data } = (await (await fetch(`${url}/api/v1/status`)).json()) as any;
  assert.deepEqual(data.counts, { orgs: 1, alliances: 0, blueprints: 0 });
  assert.equal((await fetch(`${url}/orgs`)).status, 404, 'nobody has switched on its pages');
  await stop(service, dataDir);
});

/** None of its folders exists, and the database's user must be able to enter all of them. */
const longName = `${'long name/'.repeat(14)}end`;
for (const [what, name] of [
  ['spaces, quotes, commas and Unicode', `it's "my", dätä \\ dir`],
  ['more bytes than a socket path may have', longName],
] as const) {
  test(
    `a DATA_DIR of ${what} works, and every secret in it is its owner's alone`,
    options,
    async () => {
      const dataDir = await freshDataDir(name);
      const env = { DATA_DIR: dataDir };
      const made = await runHere(
        ['apps', 'create', '--name', 'A', '--owner', 'a@example.org'],
        env,
      );
      assert.equal(made.code, 0, made.stderr);
      const service = serve(dataDir, '--no-demo');
      await service.waitFor(/^Serving at/m);
      const listed = await runCommand(['apps', 'list'], { env: { ...env, TMPDIR: '/var/tmp' } });
      assert.match(listed.stdout, /a@example\.org/, listed.stderr);
      await writeFile(join(dataDir, 'of-the-operator'), '');
      for (const entry of await readdir(dataDir)) {
        const { mode } = await stat(join(dataDir, entry));
        const open = entry.startsWith('programs-') || entry === 'of-the-operator';
        if (!open) assert.equal(mode & 0o077, 0, `${entry} has mode ${(mode & 0o777).toString(8)}`);
      }
      assert.equal((await stat(dataDir)).mode & 0o066, 0);
      await stop(service, dataDir);
      const sockets = (await readdir('/tmp')).filter((entry) => /^orgdir-\w{6}$/.test(entry));
      const own = await Promise.all(
        sockets.map((entry) => readdir(`/tmp/${entry}`).catch(() => [])),
      );
      assert.ok(
        own.every((entries) => entries.length > 0),
        'no empty socket folder is left in /tmp',
      );
    },
  );
}

test(
  'an existing DATA_DIR keeps its mode, and a pid file of another program there is not a running database',
  options,
  async () => {
    const dataDir = await migratedDataDir();
    const env = { DATA_DIR: dataDir };
    // As after a reboot: the number belongs to something else by now, here to this test.
    const pidFile = join(dataDir, 'postgres/postmaster.pid');
    await writeFile(
      pidFile,
      `${process.pid}\n${dataDir}/postgres\n1\n5432\n${dataDir}/run\n\n\nready\n`,
    );
    await chmod(dataDir, 0o1777);
    const again = await runCommand(['migrate'], { env });
    assert.equal(again.code, 0, again.stderr);
    if (isRoot) assert.equal((await stat(dataDir)).mode & 0o7777, 0o1777);
    // On a busy machine it may have to be cut, and the server then stops by itself.
    await eventually(async () => (await serverPid(dataDir)) === null);
  },
);

test('an unusable DATA_DIR is reported in one line', options, async () => {
  const dataDir = await freshDataDir();
  await writeFile(dataDir, 'a file');
  const inFile = await runHere(['migrate'], { DATA_DIR: dataDir });
  assert.equal(inFile.code, 1);
  assert.match(
    inFile.stderr,
    /^DATA_DIR \S+ cannot be used \(ENOTDIR\); .+ example DATA_DIR=\.\/data\n$/,
  );
  const folder = await freshDataDir();
  await mkdir(join(folder, 'postgres/own'), { recursive: true });
  const foreign = await runHere(['migrate'], { DATA_DIR: folder });
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /^\S+\/postgres exists but has no database; .+\n$/);
});

test(
  "a DATA_DIR out of the database's reach is reported in one line",
  { ...options, skip: rootOnly },
  async () => {
    const dataDir = await freshDataDir('closed/data');
    await mkdir(dirname(dataDir), { mode: 0o700 });
    const refused = await runHere(['migrate'], { DATA_DIR: dataDir });
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^DATA_DIR \S+ is out of reach for the user \S+, .+ example DATA_DIR=\/var\/lib\/orgdir\n$/,
    );
  },
);

test('a damaged secret file stops the start and is kept', options, async () => {
  const dataDir = await freshDataDir();
  await mkdir(dataDir);
  await writeFile(join(dataDir, 'database-password'), '\n');
  const refused = await runHere(['migrate'], { DATA_DIR: dataDir });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^\S+database-password does not hold 32 bytes in base64; .+\n$/);
});

test(
  'a lost secret-key file stops the start while it is needed, and one command replaces it',
  options,
  async () => {
    const dataDir = await migratedDataDir();
    const file = join(dataDir, 'secret-key');
    const env = { DATA_DIR: dataDir, ...loopbackAllowed };
    const first = serve(dataDir);
    const { url, key } = await ready(first);
    await stop(first, dataDir);
    await rm(file);
    const second = startCommand(['serve'], { env });
    started.push(second);
    const again = await ready(second);
    assert.ok(await readFile(file), 'nothing was encrypted with it, so there is a new one');
    const made = await fetch(`${again.url}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${url}/nowhere` }),
    });
    assert.equal(made.status, 201);
    await stop(second, dataDir);

    const kept = await readFile(file, 'utf8');
    await rm(file);
    for (const command of [['serve'], ['webhooks', 'reseal']]) {
      const refused = await runHere(command, env);
      assert.equal(refused.code, 1);
      assert.match(
        refused.stderr,
        /secret-key is missing, and with its key the secrets of 1 webhooks/,
      );
    }
    assert.equal(existsSync(file), false);
    const doctor = await runHere(['doctor', '--json'], env);
    assert.match(
      doctor.stdout,
      /secret-key is missing, and with its key the secrets of 1 webhooks/,
    );
    const withKey = await runCommand(['webhooks', 'reseal', '--json'], {
      env: { ...env, SECRET_KEY: kept.trim() },
    });
    assert.equal(withKey.code, 0, withKey.stderr);

    const replaced = await runHere(['database', 'replace-secret-key', '--json'], env);
    assert.deepEqual([replaced.code, JSON.parse(replaced.stdout)], [0, { file }]);
    const refused = await runHere(['database', 'replace-secret-key'], env);
    assert.match(refused.stderr, /^no stored secret needs a lost key/);
    const third = serve(dataDir);
    await ready(third);
    await stop(third, dataDir);
  },
);

test('a database that can never start is reported at once, with the reason', options, async () => {
  const dataDir = await migratedDataDir();
  const env = { DATA_DIR: dataDir };
  await appendFile(join(dataDir, 'postgres/postgresql.conf'), 'no_such_setting = 1\n');
  const command = startCommand(['migrate'], { env });
  started.push(command);
  // A start is tried for a minute, and what is tried again is another server.
  const { code } = await command.ended;
  assert.equal(code, 1);
  assert.match(
    command.stderr,
    /^the embedded database in \S+ does not start: FATAL: +configuration file "\S+" contains errors; its log is \S+\n$/,
  );
  const log = await readFile(join(dataDir, 'postgres.log'), 'utf8');
  assert.equal(log.match(/contains errors/g)?.length, 1);
});
