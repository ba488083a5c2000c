/** A running service of a checkout, with its database: how to call it, and how much processor time both have used. */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openClient } from '../../service/src/database/database.ts';
import { parentPid, treeCpuMs } from '../cpu-time.ts';
import { startProcess, type Started } from '../start-process.ts';
import { startPostgres } from './postgres.ts';

export type System = {
  name: string;
  /** The address of the public API and the portal. */
  url: string;
  internalUrl: string;
  /** Runs a command of its `orgdir` and returns its JSON. */
  command<T>(...args: string[]): Promise<T>;
  /** Of the process with the API. */
  readLog(): Promise<string>;
  /** Updates the planner's statistics of the whole database. */
  analyze(): Promise<void>;
  /** Resolves when no delivery is pending, so every attempt is recorded. */
  drained(): Promise<void>;
  cpu(): Promise<Cpu>;
  /** What PostgreSQL has done. Writes all changed blocks, and waits until its processes have reported it. */
  work(): Promise<Work>;
};

/** Processor time of the service and its database, and of the database alone. */
type Cpu = { totalMs: number; postgresMs: number };

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
  workers: number;
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
  const env = environment(checkout, folder);
  if (options.postgresSettings) {
    const settings = options.observesWork ? ['shared_preload_libraries=pg_stat_statements'] : [];
    const all = [...options.postgresSettings, ...settings];
    const postgres = await startPostgres(join(folder, 'postgres'), all);
    cleanUps.defer(() => postgres.stop());
    env['DATABASE_URL'] = postgres.url;
  }
  const services: Started[] = [];
  for (let index = 0; index < options.workers; index += 1) {
    const service = await startService(index, options, env);
    cleanUps.defer(() => service.stop());
    services.push(service);
  }
  const client = openClient(
    env['DATABASE_URL']
      ? { connectionString: env['DATABASE_URL'] }
      : await readEmbedded(checkout, env),
    { applicationName: 'orgdir bench', statementTimeoutMs: 0 },
  );
  await client.connect();
  cleanUps.defer(() => client.end());
  if (options.observesWork) await client.query('create extension pg_stat_statements schema public');
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const postmaster = await parentPid(rows[0]?.pid as number);
  const logFile = join(folder, 'service-0.log');
  const internalUrl = await readInternalUrl(logFile);
  return {
    name,
    url: `http://127.0.0.1:${services[0]?.port}`,
    internalUrl,
    command: (...args) => runCommand(checkout, env, args),
    readLog: () => readFile(logFile, 'utf8'),
    analyze: async () => void (await client.query('analyze')),
    drained: () => drained(internalUrl),
    async cpu() {
      const postgresMs = await treeCpuMs(postmaster);
      const each = await Promise.all(services.map(({ pid }) => treeCpuMs(pid)));
      return { postgresMs, totalMs: each.reduce((sum, ms) => sum + ms, postgresMs) };
    },
    async work() {
      await client.query('checkpoint');
      await wait(reportMs);
      const done = await client.query<Work>(`
        select wal_bytes::float8 as "walBytes", wal_sync as "walFlushes", wal_fpi as "fullPages",
          buffers_checkpoint + buffers_clean + buffers_backend as blocks,
          (
            select coalesce(sum(total_exec_time), 0) from public.pg_stat_statements where query like '%prepared: fan_out%'
          ) as "fanOutMs"
        from pg_stat_wal, pg_stat_bgwriter
      `);
      return done.rows[0] as Work;
    },
  };
}

/** The first process has the API; each delivers. */
function startService(
  index: number,
  { checkout, folder }: SystemOptions,
  env: Environment,
): Promise<Started> {
  return startProcess(join(checkout, 'service/bin/orgdir.js'), {
    args: ['serve', '--no-demo'],
    runsItself: true,
    env: { ...env, ROLES: index === 0 ? 'api,worker' : 'worker' },
    listens: true,
    logFile: join(folder, `service-${index}.log`),
  });
}

function environment(checkout: string, folder: string): Environment {
  return {
    // With its own Node.
    PATH: [join(checkout, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
    NODE_ENV: 'production',
    DATA_DIR: join(folder, 'data'),
    SECRET_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: publicUrl,
    PORT: '0',
    INTERNAL_PORT: '0',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
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

type Connection = { host: string; port: number; user: string; database: string };

/** How to connect to the embedded database. `orgdir database` prints it and then waits for a signal. */
async function readEmbedded(checkout: string, env: Environment) {
  const command = spawn(join(checkout, 'service/bin/orgdir.js'), ['database', '--json'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(command.stdout), 'line')) as [string];
  command.kill();
  await once(command, 'exit');
  const { passwordFile, ...connection } = JSON.parse(line) as Connection & { passwordFile: string };
  return { ...connection, password: (await readFile(passwordFile, 'utf8')).trim() };
}

async function readInternalUrl(logFile: string): Promise<string> {
  const [, url = ''] = /Metrics: +(\S+)\/metrics/.exec(await readFile(logFile, 'utf8')) ?? [];
  return url;
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
