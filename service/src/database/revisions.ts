/**
 * Keeps track of the current revision of each scope. A page read at a revision may be reused while the revision is the
 * same and was confirmed less than a second ago. Notifications can be lost, and a listening connection can stall
 * unnoticed, so polling decides; notifications only make it faster.
 */
import { sql, type Database } from './database.ts';
import type { DatabaseClock } from './clock.ts';
import { newestMigration } from './migrate.ts';
import type { Session } from './session.ts';
import { revisionsPerTimeline, timeline } from './timeline.ts';

export type Scope = 'directory' | 'blueprints' | 'access' | 'system';

/** Any change is visible within a second: docs/reference/reads.md#what-is-public */
const trustedMs = 1_000;
const pollMs = 400;
/** API processes share this advisory lock, and `system/api-processes.ts` counts its holders. */
export const apiProcessLock = 70420021;
/** With `newestMigration`, the key of another one: it says what the process knows. 1.0.0 has none. */
export const versionLock = 70420026;

export class Revisions {
  readonly #database: Database;
  readonly #clock: DatabaseClock;
  readonly #listener: ReturnType<Session['createListener']>;
  readonly #refresh = createRefresh(
    () => this.#read(),
    () => this.#running,
  );
  readonly #revisions = new Map<Scope, number>();
  readonly #moveListeners: ((scope: Scope) => void)[] = [];
  readonly #noticeListeners: ((payload: string | null) => void)[] = [];
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #running = false;

  constructor(database: Database, session: Session, clock: DatabaseClock) {
    this.#database = database;
    this.#clock = clock;
    this.#listener = session.createListener(
      ['orgdir_revision'],
      (channel, payload) => {
        this.#refresh.soon();
        for (const call of this.#noticeListeners) call(channel === null ? null : payload);
      },
      { shared: [[versionLock, newestMigration], [apiProcessLock]] },
    );
  }

  /** The current revision, or null if it was not confirmed within the last second. */
  current(scope: Scope): number | null {
    const isTrusted = performance.now() - this.#confirmedAt < trustedMs;
    return isTrusted ? (this.#revisions.get(scope) ?? null) : null;
  }

  /** Calls `listener` whenever a scope has a new revision. */
  onMove(listener: (scope: Scope) => void): void {
    this.#moveListeners.push(listener);
  }

  /** Calls `listener` with the payload of each notification, and with null after every (re)connection. */
  onNotice(listener: (payload: string | null) => void): void {
    this.#noticeListeners.push(listener);
  }

  /** Whether notifications arrive here at the moment. */
  listens(): boolean {
    return this.#listener.listens();
  }

  async start(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    this.#listener.start();
    this.#timer = setInterval(this.#refresh.soon, pollMs);
    await this.#read();
  }

  async stop(): Promise<void> {
    this.#running = false;
    clearInterval(this.#timer);
    await this.#listener.stop();
    await this.#refresh.ended();
  }

  async #read(): Promise<void> {
    // The time before the query: its result includes every change committed by then.
    const startedAt = performance.now();
    try {
      const rows = await readRevisions(this.#database);
      this.#confirmedAt = startedAt;
      this.#clock.see(rows[0]?.atMs ?? Date.now(), startedAt);
      for (const { scope, revision } of rows) this.#update(scope, revision);
    } catch {
      // Unconfirmed after a second; readers then query the database themselves and report if it is away.
    }
  }

  #update(scope: Scope, revision: number): void {
    if (this.#revisions.get(scope) === revision) return;
    this.#revisions.set(scope, revision);
    for (const call of this.#moveListeners) call(scope);
  }
}

/** Whether no failover was between the two. */
export function isSameTimeline(one: number, other: number): boolean {
  return Math.floor(one / revisionsPerTimeline) === Math.floor(other / revisionsPerTimeline);
}

type Row = { scope: Scope; revision: number; timeline: number | null; atMs: number };

/** On a standby without the timeline. */
export async function selectRevisions(database: Database): Promise<Row[]> {
  const { rows } = await sql<Row>`
    -- prepared: revisions
    select scope, revision, case when not pg_is_in_recovery() then ${timeline} end as timeline,
      (extract(epoch from queue_now()) * 1000)::float8 as "atMs"
    from revisions
  `.execute(database);
  return rows;
}

async function readRevisions(database: Database): Promise<Row[]> {
  const rows = await selectRevisions(database);
  const current = rows[0]?.timeline;
  if (!current) throw new Error('a standby confirms no revision');
  const floor = (current - 1) * revisionsPerTimeline;
  if (rows.every(({ revision }) => revision >= floor)) return rows;
  await sql`
    -- the lock of move_revision
    with locked as materialized (select pg_advisory_xact_lock(70420001))
    update revisions set revision = ${floor} from locked where revision < ${floor}
  `.execute(database);
  return readRevisions(database);
}

/** One read at a time; one that is asked for during another follows it. */
export function createRefresh(read: () => Promise<void>, isRunning: () => boolean) {
  let reading: Promise<void> | null = null;
  let again = false;

  async function readWhileAsked(): Promise<void> {
    while (again && isRunning()) {
      again = false;
      await read();
    }
  }

  return {
    soon: () => {
      if (!isRunning()) return;
      again = true;
      reading ??= readWhileAsked().finally(() => (reading = null));
    },
    ended: async () => reading,
  };
}
