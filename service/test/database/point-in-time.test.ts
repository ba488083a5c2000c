/** Recovers a server to a moment with the commands of `docs/operations.md`, as they are written there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openDatabase, sql } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { put } from '../support/directory.ts';

const programs = '/usr/lib/postgresql/15/bin';
const skip = existsSync(`${programs}/pg_ctl`) ? false : `there is no ${programs}/pg_ctl`;
const docs = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
const section = /\n### Point-in-time recovery\n([^]*?)\n### /.exec(docs)?.[1] ?? '';
const [prepare = '', recover = ''] = [...section.matchAll(/```sh\n([^]*?)```/g)].map(
  ([, block = '']) => block,
);

test(
  'the commands for point-in-time recovery work as written',
  { skip, timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orgdir-pitr-'));
    chmodSync(folder, 0o777);
    const env = {
      PATH: `${programs}:${process.env['PATH']}`,
      PGDATA: join(folder, 'data'),
      PGHOST: folder,
      PGUSER: 'postgres',
      ARCHIVE: join(folder, 'archive'),
      BASE: join(folder, 'base'),
      RECOVERED: join(folder, 'recovered'),
    };
    const run = (script: string, more: Record<string, string> = {}) =>
      runAsServer(script, { ...env, ...more });
    after(() => {
      for (const data of [env.PGDATA, env.RECOVERED])
        runAsServer(`pg_ctl --pgdata='${data}' --mode=immediate stop`, env);
      rmSync(folder, { recursive: true });
    });
    mkdirSync(env.ARCHIVE);
    chmodSync(env.ARCHIVE, 0o777);
    done(
      run(`initdb --auth=trust --encoding=UTF8 --locale=C --no-sync >&2
      echo "listen_addresses = ''" >> "$PGDATA/postgresql.conf"
      echo "unix_socket_directories = '$PGHOST'" >> "$PGDATA/postgresql.conf"
      pg_ctl --wait --log="$PGHOST/log" start >&2`),
    );
    done(run(prepare));
    const connection = { host: folder, user: 'postgres', database: 'postgres' };
    let database = openDatabase(connection, { applicationName: 'test' });
    await migrate(database);
    await put(database, 'orgs', [{ slug: 'kept', name: 'Kept' }]);
    const { rows } = await sql<{ time: string }>`select clock_timestamp()::text as time`.execute(
      database,
    );
    await sql`delete from orgs`.execute(database);
    await database.destroy();

    done(run(recover, { TIME: rows[0]?.time ?? '' }));
    database = openDatabase(connection, { applicationName: 'test' });
    const found = await sql<{ slug: string }>`select slug from orgs`.execute(database);
    assert.deepEqual(found.rows, [{ slug: 'kept' }]);
    await put(database, 'orgs', [{ slug: 'later', name: 'Later' }]);
    await database.destroy();
  },
);

/** PostgreSQL refuses to run as root. */
function runAsServer(script: string, env: Record<string, string>) {
  const user =
    process.getuid?.() === 0
      ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
      : [];
  // The server that it starts keeps its output open.
  return spawnSync('env', [...user, 'sh', '-e'], {
    cwd: '/',
    env,
    input: script,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
}

function done({ status }: ReturnType<typeof runAsServer>): void {
  assert.equal(status, 0);
}
