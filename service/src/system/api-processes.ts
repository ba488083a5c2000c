/**
 * Whether other API processes use the same database. Each holds a shared advisory lock on its listening connection, so
 * the database forgets one that ends, however it ends, and nobody writes anything.
 */
import { sql, type Database } from '../database/database.ts';
import { apiProcessLock, createRefresh, type Revisions } from '../database/revisions.ts';

export type ApiProcesses = {
  /** Whether this is the only one. False while that is unknown. */
  isAlone(): boolean;
  /** Calls `listener` when the first other process has started. */
  onCompany(listener: () => void): void;
  start(): void;
  stop(): Promise<void>;
};

const pollMs = 1_000;
/** A process that lost its connection may still serve, so it counts for one more window of the rate limit. */
const forgottenAfterMs = 60_000;
/** The payload of a notification that announces a process to the others. */
const announcement = 'process';

export function createApiProcesses(database: Database, revisions: Revisions): ApiProcesses {
  const listeners: (() => void)[] = [];
  let alone = false;
  let companyAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const refresh = createRefresh(count, () => timer !== undefined);

  async function count(): Promise<void> {
    try {
      if ((await countProcesses(database)) > 1) companyAt = performance.now();
      const wasAlone = alone;
      alone = performance.now() - companyAt > forgottenAfterMs;
      if (wasAlone && !alone) for (const call of listeners) call();
    } catch {
      // The rate limit does not use the database either while it is away.
    }
  }

  revisions.onNotice((payload) => {
    if (payload === null) void announce(database).catch(() => {});
    if (payload === announcement) refresh.soon();
  });

  return {
    isAlone: () => alone && revisions.listens(),
    onCompany(call) {
      listeners.push(call);
    },
    start() {
      timer ??= setInterval(refresh.soon, pollMs);
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await refresh.ended();
    },
  };
}

/** Its own notification reaches the process too, so it counts at once. */
async function announce(database: Database): Promise<void> {
  await sql`select pg_notify('orgdir_revision', ${announcement})`.execute(database);
}

async function countProcesses(database: Database): Promise<number> {
  const { rows } = await sql<{ processes: number }>`
    -- prepared: api_processes
    select count(*)::int as processes from pg_locks
    where locktype = 'advisory' and granted and objsubid = 1 and classid = 0 and objid = ${apiProcessLock}::oid
      and database = (select oid from pg_database where datname = current_database())
  `.execute(database);
  return rows[0]?.processes ?? 0;
}
