/** A running service of a checkout, with its database: how to call it, and how much processor time both have used. */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  openClient,
  openDatabase,
  sql,
  type ConnectionSettings,
  type Database,
} from '../../service/src/database/database.ts';
import { createSecretBox, type SecretBox } from '../../service/src/runtime/secret-box.ts';
import { childPids, cpuMs, parentPid, treeCpuMs } from '../cpu-time.ts';
import { residentMib } from '../resident-memory.ts';
import { startProcess, type Started } from '../start-process.ts';
import { freePort } from '../../service/test/support/free-port.ts';
import { startPostgres } from './postgres.ts';

export type System = {
  name: string;
  /** The address of the public API and the portal. */
  url: string;
  internalUrl: string;
  /** Its database, for what no API does. */
  database: Database;
  /** Another connection, which the caller opens and ends. */
  openClient: () => ReturnType<typeof openClient>;
  secretBox: SecretBox;
  /** Runs a command of its `orgdir` and returns its JSON. */
  command<T>(...args: string[]): Promise<T>;
  /** Runs a command to its end, without its output. An object at the end is more of its environment. */
  run(...args: (string | Environment)[]): Promise<void>;
  /** Stops the service, and the embedded database with it. */
  stop(): Promise<void>;
  /** Stops the service and starts it again. Resolves when it is ready. */
  restart(): Promise<void>;
  /** Of the service. */
  readLog(): Promise<string>;
  /** Updates the planner's statistics of the whole database. */
  analyze(): Promise<void>;
  /** Resolves when no delivery is pending, so every attempt is recorded. */
  drained(): Promise<void>;
  cpu(): Promise<Cpu>;
  /** The processes that deliver. */
  workerPids(): Promise<number[]>;
  /** Resident memory of all processes of the service, without its database. */
  residentMib(): Promise<number>;
  /** What PostgreSQL has done. Writes all changed blocks, and waits until its processes have reported it. */
  work(): Promise<Work>;
};

/** Processor time of the service and its database, of the database alone, and of the process that delivers and used most. */
type Cpu = { totalMs: number; postgresMs: number; workerMs: number };

export type Work = {
  /** Bytes of the write-ahead log. */
  walBytes: number;
  /** How often the log was flushed to disk. */
  walFlushes: number;
  /** Pages that were written to the log as a whole, because they changed for the first time after a checkpoint. */
  fullPages: number;
  /** Blocks of 8 KiB that were written to tables and indexes. */
  blocks: number;
  /** How long fan-out ran, which only one process at a time may do. */
  fanOutMs: number;
};

export type SystemOptions = {
  name: string;
  checkout: string;
  /** Is created, for its data and logs. */
  folder: string;
  /** Settings of a PostgreSQL server for this system. Null: the embedded database. */
  postgresSettings: string[] | null;
  /** The folder of its programs. Default: Debian's PostgreSQL 15. */
  programs?: string;
  /** `WORKERS` of the service. */
  workers: number;
  /** More of its environment variables. */
  env?: Environment;
  /** Whether `work` will be called. */
  observesWork: boolean;
};

type Environment = Record<string, string>;

/** Writes of the portal's API must come from this address. */
export const publicUrl = 'http://127.0.0.1';

const drainPollMs = 200;
const drainTimeoutMs = 60_000;
/** PostgreSQL's processes report what they have done within 10 s of their last statement. */
const reportMs = 11_000;
/** Gauges that are 0 when everything is delivered and recorded. */
const openGauges = ['events_waiting', 'deliveries_pending', 'deliveries_leased'];

/** `cleanUps` gets how to stop its processes. */
export async function startSystem(
  options: SystemOptions,
  cleanUps: AsyncDisposableStack,
): Promise<System> {
  const { name, checkout, folder } = options;
  await mkdir(folder);
  const env = await environment(options);
  if (options.postgresSettings) {
    const settings = options.observesWork ? ['shared_preload_libraries=pg_stat_statements'] : [];
    const all = [...options.postgresSettings, ...settings];
    const postgres = await startPostgres(join(folder, 'postgres'), all, options.programs);
    cleanUps.defer(() => postgres.stop());
    env['DATABASE_URL'] = postgres.url;
  }
  const logFile = join(folder, 'service.log');
  let service = await startService(checkout, env, logFile);
  cleanUps.defer(() => service.stop());
  const connection = env['DATABASE_URL']
    ? { connectionString: env['DATABASE_URL'] }
    : await readEmbedded(checkout, env);
  const connectionOptions = { applicationName: 'orgdir bench', statementTimeoutMs: 0 };
  const database = openDatabase(connection, connectionOptions);
  cleanUps.defer(() => database.destroy());
  if (options.observesWork)
    await sql`create extension pg_stat_statements schema public`.execute(database);
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database);
  const postmaster = await parentPid(rows[0]?.pid as number);
  const internalUrl = `http://127.0.0.1:${env['INTERNAL_PORT']}`;

  /** Without the embedded server, which is a child of the service, too. */
  async function childrenOfService(): Promise<number[]> {
    return (await childPids(service.pid)).filter((pid) => pid !== postmaster);
  }

  async function workerPids(): Promise<number[]> {
    return options.workers === 1 ? [service.pid] : childrenOfService();
  }

  return {
    name,
    url: `http://127.0.0.1:${env['PORT']}`,
    internalUrl,
    database,
    openClient: () => openClient(connection, connectionOptions),
    secretBox: createSecretBox([Buffer.from(env['SECRET_KEY'] as string, 'base64')]),
    command: (...args) => runCommand(checkout, env, args),
    run: (...args) => runToEnd(checkout, env, args),
    async stop() {
      await database.destroy();
      await service.stop();
    },
    async restart() {
      await service.stop();
      service = await startService(checkout, env, logFile);
    },
    readLog: () => readFile(logFile, 'utf8'),
    analyze: async () => void (await sql`analyze`.execute(database)),
    drained: () => drained(internalUrl),
    async cpu() {
      const [postgresMs, serviceMs, isEmbedded] = await Promise.all([
        treeCpuMs(postmaster),
        treeCpuMs(service.pid),
        parentPid(postmaster).then((parent) => parent === service.pid),
      ]);
      const each = await Promise.all((await workerPids()).map(cpuMs));
      const totalMs = isEmbedded ? serviceMs : serviceMs + postgresMs;
      return { postgresMs, totalMs, workerMs: Math.max(...each.map((ms) => ms ?? 0)) };
    },
    workerPids,
    async residentMib() {
      const pids = [service.pid, ...(await childrenOfService())];
      const each = await Promise.all(pids.map(residentMib));
      return each.reduce<number>((sum, mib) => sum + (mib ?? 0), 0);
    },
    async work() {
      await sql`checkpoint`.execute(database);
      await wait(reportMs);
      const done = await sql<Work>`
        select wal_bytes::float8 as "walBytes", wal_sync as "walFlushes", wal_fpi as "fullPages",
          buffers_checkpoint + buffers_clean + buffers_backend as blocks,
          (
            select coalesce(sum(total_exec_time), 0) from public.pg_stat_statements where query like '%prepared: fan_out%'
          ) as "fanOutMs"
        from pg_stat_wal, pg_stat_bgwriter
      `.execute(database);
      return done.rows[0] as Work;
    },
  };
}

/** Delivers itself, or in `WORKERS` processes of its own. */
function startService(checkout: string, env: Environment, logFile: string): Promise<Started> {
  return startProcess(join(checkout, 'service/bin/orgdir.js'), {
    args: ['serve', '--no-demo'],
    runsItself: true,
    env,
    listens: true,
    logFile,
  });
}

async function environment({
  checkout,
  folder,
  workers,
  env,
}: SystemOptions): Promise<Environment> {
  return {
    // With its own Node.
    PATH: [join(checkout, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
    NODE_ENV: 'production',
    DATA_DIR: join(folder, 'data'),
    SECRET_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: publicUrl,
    // The same after a restart.
    PORT: String(await freePort()),
    INTERNAL_PORT: String(await freePort()),
    WORKERS: String(workers),
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
    ...env,
  };
}

async function runCommand<T>(checkout: string, env: Environment, args: string[]): Promise<T> {
  const { stdout } = await promisify(execFile)(
    join(checkout, 'service/bin/orgdir.js'),
    [...args, '--json'],
    { env: { ...process.env, ...env } },
  );
  return JSON.parse(stdout) as T;
}

async function runToEnd(
  checkout: string,
  env: Environment,
  args: (string | Environment)[],
): Promise<void> {
  const words = args.filter((each) => typeof each === 'string');
  const more = args.filter((each) => typeof each !== 'string');
  const child = spawn(join(checkout, 'service/bin/orgdir.js'), words, {
    env: Object.assign({ ...process.env, ...env }, ...more) as Environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`orgdir ${words.join(' ')} exited with ${code}`);
}

/** How to connect to the embedded database. `orgdir database` prints it and then waits for a signal. */
async function readEmbedded(checkout: string, env: Environment): Promise<ConnectionSettings> {
  const command = spawn(join(checkout, 'service/bin/orgdir.js'), ['database', '--json'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(command.stdout), 'line')) as [string];
  command.kill();
  await once(command, 'exit');
  const { passwordFile, ...connection } = JSON.parse(line) as ConnectionSettings & {
    passwordFile: string;
  };
  return { ...connection, password: (await readFile(passwordFile, 'utf8')).trim() };
}

async function drained(internalUrl: string): Promise<void> {
  const deadline = performance.now() + drainTimeoutMs;
  while (performance.now() < deadline) {
    const metrics = await (await fetch(`${internalUrl}/metrics`)).text();
    if (openGauges.every((gauge) => metrics.includes(`\norgdir_${gauge} 0\n`))) return;
    await wait(drainPollMs);
  }
  throw new Error(`deliveries are still pending after ${drainTimeoutMs / 1000} s`);
}
