/** What scenarios run on: receivers with webhooks, a publisher, processes of the service, and the records of all. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { fullLookMs } from '../service/src/runtime/floor.ts';
import { createSecretBox, type SecretBox } from '../service/src/runtime/secret-box.ts';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';
import { readRecords, type Fault, type Ledger } from './ledger.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { startReceivers, type Kind, type Received, type Receivers } from './receivers.ts';
import { shortTimes, startService, type ServeOptions, type Service } from './service.ts';
import type { Env } from './start-process.ts';
import { addReceivers } from './subscribers.ts';

export type World = {
  openedAt: number;
  /** The pool of the test, which bypasses proxies and poolers. */
  database: Database;
  receivers: Receivers;
  publisher: Publisher;
  secretBox: SecretBox;
  serviceName: string;
  secretKey: string;
  /** Every process of the service, including those that have ended. */
  processes: Service[];
  faults: Fault[];
  /** Starts `orgdir serve`. Does not wait until it is ready. */
  start(env: Env, options?: ServeOptions): Service;
  /** Records the duration of `act` as the time of a fault. */
  fault<T>(act: () => Promise<T>): Promise<T>;
  /** Resolves when no event and no delivery is pending. */
  drained(deadlineMs?: number): Promise<void>;
  /** `committed` replaces the events of the publisher. */
  ledger(committed?: ReadonlySet<string>): Promise<Ledger>;
};

export type WorldOptions = {
  kinds: readonly Kind[];
  /** Settings of the service that differ from those of all scenarios. */
  settings?: Env;
  /** The address of the receivers. */
  host?: string;
};

/** How long after a fault a process or statement may still be affected. */
const aftermathMs = 1_000;
/** Nothing may be left to the looks at the whole queue, once a minute. */
const drainDeadlineMs = fullLookMs - 10_000;
const pollMs = 20;
/** The most characters that a failure shows of one process. */
const lastWordsMax = 1_000;

export async function openWorld(
  database: Database,
  { kinds, settings = {}, host }: WorldOptions,
  cleanUps: AsyncDisposableStack,
): Promise<World> {
  const openedAt = Date.now();
  const key = randomBytes(32);
  const secretKey = key.toString('base64');
  const secretBox = createSecretBox([key]);
  const receivers = await startReceivers(kinds, cleanUps, host);
  await receivers.expect(await addReceivers({ database, secretBox }, receivers.addresses));
  const publisher = createPublisher(database);
  const processes: Service[] = [];
  const faults: Fault[] = [];
  cleanUps.defer(async () => {
    publisher.stop();
    await Promise.all(processes.map((process) => process.kill()));
  });
  return {
    openedAt,
    database,
    receivers,
    publisher,
    secretBox,
    serviceName: 'Service',
    secretKey,
    processes,
    faults,
    start(env, options) {
      const all = { ...shortTimes, ...settings, SECRET_KEY: secretKey, ...env };
      const service = startService(all, options);
      processes.push(service);
      return service;
    },
    async fault(act) {
      const fault = { from: Date.now(), until: Infinity };
      faults.push(fault);
      const result = await act();
      fault.until = Date.now() + aftermathMs;
      return result;
    },
    drained: (deadlineMs = drainDeadlineMs) =>
      drained(database, deadlineMs).catch((cause: unknown) => {
        throw new Error(`${(cause as Error).message}\n${lastWords(processes)}`, { cause });
      }),
    ledger: async (committed = publisher.committed) => ({
      ...(await readRecords(database, secretBox)),
      committed,
      uncertain: publisher.uncertain,
      received: (await receivers.report()).filter((one) => !isProbe(one)),
      faults,
    }),
  };
}

/** What processes that ended said, and the last lines of those that run. */
function lastWords(processes: readonly Service[]): string {
  return processes
    .map((process) =>
      process.hasEnded()
        ? `${process.pid} ended: ${process.stderr().slice(-lastWordsMax)}`
        : `${process.pid} runs: ${withoutAttempts(process.stdout()).slice(-lastWordsMax)}`,
    )
    .join('\n');
}

function withoutAttempts(log: string): string {
  return log
    .split('\n')
    .filter((line) => !line.includes('delivery.attempted'))
    .join('\n');
}

function isProbe({ body }: Received): boolean {
  return (JSON.parse(body) as { event: string }).event === 'webhook.probe';
}

/** The migrated database of a server, or of the primary among several. */
export async function openServer(
  databaseUrl: string,
  cleanUps: AsyncDisposableStack,
): Promise<Database> {
  const opened = await openConfiguredDatabase(
    { databaseUrl, dataDir: '' },
    { purpose: 'tool', applicationName: 'harness' },
  );
  cleanUps.defer(() => opened.close());
  return opened.database;
}

/** The database of a server as it is. */
export function openPool(connectionString: string, cleanUps: AsyncDisposableStack): Database {
  const database = openDatabase({ connectionString }, { applicationName: 'harness' });
  cleanUps.defer(() => database.destroy());
  return database;
}

/** Resolves when no event and no delivery is pending. */
export async function drained(database: Database, deadlineMs: number): Promise<void> {
  await until('the end of all deliveries', deadlineMs, () =>
    isEmpty(
      database,
      sql`
        select from outbox union all select from broadcasts
        union all select from pending_deliveries where trigger <> 'probe'
      `,
    ),
  ).catch(async (cause: unknown) => {
    const { rows } = await sql`
      select (select count(*) from outbox) as published, (select count(*) from broadcasts) as broadcasts,
        count(*) as pending, count(lease_token) as leased, count(*) filter (where parked) as parked,
        min(due_at - queue_now()) as "firstDueIn", max(due_at - queue_now()) as "lastDueIn", max(cycle_attempts) as attempts,
        array_agg(distinct webhook_id) as webhooks
      from pending_deliveries where trigger <> 'probe'
    `.execute(database);
    throw new Error(`there is still ${JSON.stringify(rows[0])}`, { cause });
  });
}

/** Resolves when no lease from before is left. */
export async function noLeaseFrom(
  database: Database,
  before: number,
  deadlineMs: number,
): Promise<void> {
  const leased = sql`
    select from pending_deliveries where leased_at <= to_timestamp(${before / 1000}::float8)
  `;
  await until('the end of all leases', deadlineMs, () => isEmpty(database, leased));
}

/** The `value` in the one row of a query. */
export async function readValue<T = number>(
  database: Database,
  query: ReturnType<typeof sql>,
): Promise<T> {
  const { rows } = await (query as ReturnType<typeof sql<{ value: T }>>).execute(database);
  return rows[0]?.value ?? assert.fail('the query found nothing');
}

export async function isEmpty(database: Database, query: ReturnType<typeof sql>): Promise<boolean> {
  return (await sql`${query} limit 1`.execute(database)).rows.length === 0;
}

export async function until(
  what: string,
  deadlineMs: number,
  isReached: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await isReached())) {
    if (Date.now() > deadline) assert.fail(`${what} did not come within ${deadlineMs} ms`);
    await wait(pollMs);
  }
}
