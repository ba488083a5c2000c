/**
 * Reads the directory from replicas. Each result carries the revision of its snapshot, and counts only if it is as new as
 * the revision that the primary confirmed within the last second. So a page is never older than that, whatever a replica
 * believes about its own lag (docs/decisions/0038-database-servers.md).
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError, StartError } from '../errors.ts';
import { openDatabase, sql, type Database } from './database.ts';
import { formatHost } from './primary.ts';
import { selectRevisions, type Revisions, type Scope } from './revisions.ts';

export type ReplicasOptions = {
  urls: string[];
  primary: Database;
  revisions: Pick<Revisions, 'current'>;
  /** Called when a replica is out of use for longer than a moment, with the reason, and with null when it is used again. */
  onChange: (replica: string, reason: string | null) => void;
};

type Replica = {
  name: string;
  database: Database;
  isUsed: boolean;
  usedSince: number;
  /** Reads in flight. */
  reads: number;
  pauseMs: number;
  isReported: boolean;
  timer: NodeJS.Timeout | undefined;
};

/** A replica that has not responded by then is left out, and the primary responds instead. */
const responseTimeoutMs = 1_000;
/** How long a replica is left out before it is checked. Doubles while checks fail. */
const pauseMsMin = 50;
const pauseMsMax = 2_000;
/** After this time in use, a fault is not a repeated one. */
const wellAfterMs = 5_000;
/** How often one that is used is checked: it may have been promoted. */
const checkEveryMs = 5_000;
const poolEndTimeoutMs = 500;
const otherCluster = 'another cluster';
const behind = 'behind';

export class Replicas {
  readonly #replicas: Replica[];
  readonly #primary: Database;
  readonly #revisions: ReplicasOptions['revisions'];
  readonly #onChange: ReplicasOptions['onChange'];
  /** The identifier of the primary's cluster. */
  #system = '';
  #running = false;

  constructor({ urls, primary, revisions, onChange }: ReplicasOptions) {
    this.#replicas = urls.map(openReplica);
    this.#primary = primary;
    this.#revisions = revisions;
    this.#onChange = onChange;
  }

  /**
   * Runs `load` on a replica, and again on the primary if no replica has a result that is new enough: as new as the confirmed
   * revision, and as `atLeast`, a revision that another process may have shown.
   */
  async read<T extends { revision: number }>(
    scope: Scope,
    load: (database: Database) => Promise<T>,
    atLeast = 0,
  ): Promise<T> {
    const [replica] = this.#replicas
      .filter(({ isUsed }) => isUsed)
      .sort((one, other) => one.reads - other.reads);
    const isKnown = replica !== undefined && this.#revisions.current(scope) !== null;
    const result = isKnown ? await this.#readFrom(replica, scope, load) : null;
    return result !== null && result.revision >= atLeast ? result : load(this.#primary);
  }

  /** Throws a `StartError` if a replica belongs to another cluster. The revisions must have started. */
  async start(): Promise<void> {
    if (this.#running || this.#replicas.length === 0) return;
    this.#running = true;
    this.#system = (await readReplica(this.#primary)).system;
    const reasons = await Promise.all(this.#replicas.map((each) => this.#check(each)));
    const stranger = this.#replicas[reasons.indexOf(otherCluster)];
    if (stranger)
      throw new StartError(
        `DATABASE_READ_URLS names ${stranger.name}, which is not a replica of the database in DATABASE_URL; remove it`,
      );
  }

  async stop(): Promise<void> {
    this.#running = false;
    for (const { timer } of this.#replicas) clearTimeout(timer);
    // A replica that does not respond must not keep the process alive.
    await Promise.race([
      Promise.all(this.#replicas.map(({ database }) => database.destroy())),
      wait(poolEndTimeoutMs, undefined, { ref: false }),
    ]);
  }

  /** Returns null if the result is too old, or if there is none. */
  async #readFrom<T extends { revision: number }>(
    replica: Replica,
    scope: Scope,
    load: (database: Database) => Promise<T>,
  ): Promise<T | null> {
    replica.reads += 1;
    try {
      const result = await load(replica.database);
      const current = this.#revisions.current(scope);
      if (current !== null && result.revision >= current) return result;
      if (current !== null) this.#leaveOut(replica, behind);
    } catch (error) {
      // What is asked for is wrong, and not the replica.
      if (error instanceof ServiceError) throw error;
      this.#leaveOut(replica, (error as Error).message);
    } finally {
      replica.reads -= 1;
    }
    return null;
  }

  #leaveOut(replica: Replica, reason: string): void {
    if (!replica.isUsed) return;
    replica.isUsed = false;
    // While there are writes, any replica is behind now and then, for a moment.
    if (reason === behind || performance.now() - replica.usedSince > wellAfterMs)
      replica.pauseMs = pauseMsMin;
    this.#checkLater(replica, reason);
  }

  #checkLater(replica: Replica, reason: string): void {
    if (!this.#running) return;
    if (replica.pauseMs === pauseMsMax && !replica.isReported) {
      replica.isReported = true;
      this.#onChange(replica.name, reason);
    }
    this.#checkIn(replica, replica.pauseMs);
    replica.pauseMs = Math.min(replica.pauseMs * 2, pauseMsMax);
  }

  #checkIn(replica: Replica, ms: number): void {
    clearTimeout(replica.timer);
    if (this.#running) replica.timer = setTimeout(() => void this.#check(replica), ms).unref();
  }

  /** Returns why it cannot be used; null if it can. */
  async #check(replica: Replica): Promise<string | null> {
    const reason = await this.#findFault(replica);
    if (reason !== null) {
      if (replica.isUsed) this.#leaveOut(replica, reason);
      else this.#checkLater(replica, reason);
      return reason;
    }
    this.#checkIn(replica, checkEveryMs);
    if (replica.isUsed) return null;
    replica.isUsed = true;
    replica.usedSince = performance.now();
    if (replica.isReported) this.#onChange(replica.name, null);
    replica.isReported = false;
    return null;
  }

  async #findFault({ database, isUsed }: Replica): Promise<string | null> {
    try {
      const state = await readReplica(database);
      if (state.system !== this.#system) return otherCluster;
      if (!state.is_standby) return 'not a standby';
      return (await this.#isBehind(database, isUsed)) ? behind : null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** While the primary does not say what there is, one that is used is good, and no other is known to be. */
  async #isBehind(database: Database, isUsed: boolean): Promise<boolean> {
    const rows = await selectRevisions(database);
    return rows.some(
      ({ scope, revision }) =>
        revision < (this.#revisions.current(scope) ?? (isUsed ? 0 : Infinity)),
    );
  }
}

function openReplica(url: string): Replica {
  return {
    name: formatHost(url),
    database: openDatabase(
      { connectionString: url },
      { applicationName: `orgdir reads, pid ${process.pid}`, responseTimeoutMs },
    ),
    isUsed: false,
    usedSince: 0,
    reads: 0,
    pauseMs: pauseMsMin,
    isReported: false,
    timer: undefined,
  };
}

type Row = { system: string; is_standby: boolean };

/** Reads which cluster a server belongs to, and whether it is a standby. */
export async function readReplica(database: Database): Promise<Row> {
  const { rows } = await sql<Row>`
    select (select system_identifier::text from pg_control_system()) as system, pg_is_in_recovery() as is_standby
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the server returned no state');
  return row;
}
