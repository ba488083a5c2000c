/**
 * The one connection of a process that keeps its session: it listens for notifications and holds advisory locks for all
 * parts. It never leads through a pooler. It is open while a part listens, and reconnects. Notifications may be lost, so
 * callers must also poll.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import {
  directConnection,
  openClient,
  sql,
  type ConnectionSettings,
  type Database,
} from './database.ts';

export type Listener = {
  start(): void;
  stop(): Promise<void>;
  /** Whether notifications arrive here at the moment. */
  listens(): boolean;
};

type OnNotice = (channel: string | null, payload: string) => void;

type Locks = {
  /** An advisory lock: only the one process that holds it listens. */
  exclusive?: number;
  /** The keys of advisory locks that the process shares with others, which look at its holders. */
  shared?: readonly (readonly [number] | readonly [number, number])[];
};

type Subscription = {
  channels: string[];
  onNotice: OnNotice;
  locks: Locks;
  listens: boolean;
  retry: NodeJS.Timeout | undefined;
};

type Connection = {
  client: pg.Client;
  /** Ends with the last statement. */
  statements: Promise<void>;
};

const reconnectMs = 500;
/** A server that has stopped responding does not close its side. */
const endTimeoutMs = 500;
/** How often a process tries to become the one that listens. */
const lockRetryMs = 1_000;

export class Session {
  readonly #settings: ConnectionSettings;
  readonly #subscriptions = new Set<Subscription>();
  #current: Connection | null = null;
  #reconnect: NodeJS.Timeout | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /**
   * Calls `onNotice(channel, payload)` for each notification, and `onNotice(null, '')` after every (re)connection, when
   * some may have been missed.
   */
  createListener(channels: string[], onNotice: OnNotice, locks: Locks = {}): Listener {
    const state = { listens: false, retry: undefined };
    const subscription: Subscription = { channels, onNotice, locks, ...state };
    return {
      start: () => void this.#start(subscription),
      stop: () => this.#stop(subscription),
      listens: () => subscription.listens,
    };
  }

  #connect(): void {
    this.#reconnect = undefined;
    const client = openClient(directConnection(this.#settings), {
      applicationName: `orgdir listener, pid ${process.pid}`,
    });
    const opened = { client, statements: Promise.resolve() };
    this.#current = opened;
    client.on('error', () => {});
    client.on('notification', ({ channel, payload }) => {
      for (const { channels, onNotice } of this.#subscriptions)
        if (channels.includes(channel)) onNotice(channel, payload ?? '');
    });
    client.once('end', () => this.#lose(opened));
    void this.#run(opened, async () => void (await client.connect()));
    for (const each of this.#subscriptions)
      void this.#run(opened, () => this.#subscribe(opened, each));
  }

  /** Runs what belongs together after everything before it. A connection with an error is replaced. */
  #run(on: Connection, act: () => Promise<void>): Promise<void> {
    on.statements = on.statements
      .then(() => (on === this.#current ? act() : undefined))
      .catch(() => this.#lose(on));
    return on.statements;
  }

  #lose(lost: Connection): void {
    if (lost !== this.#current) return;
    this.#current = null;
    void lost.client.end().catch(() => {});
    for (const each of this.#subscriptions) pause(each);
    this.#reconnect = setTimeout(() => this.#connect(), reconnectMs);
  }

  async #subscribe(on: Connection, subscription: Subscription): Promise<void> {
    if (!this.#subscriptions.has(subscription)) return;
    const { channels, onNotice, locks } = subscription;
    if (locks.exclusive !== undefined && !(await tryLock(on.client, locks.exclusive))) {
      const again = () => void this.#run(on, () => this.#subscribe(on, subscription));
      subscription.retry = setTimeout(again, lockRetryMs).unref();
      return;
    }
    for (const key of locks.shared ?? [])
      await on.client.query(`select pg_advisory_lock_shared(${argumentsOf(key)})`, [...key]);
    for (const channel of channels) await on.client.query(`listen ${channel}`);
    if (!this.#subscriptions.has(subscription)) return;
    subscription.listens = true;
    onNotice(null, '');
  }

  async #start(subscription: Subscription): Promise<void> {
    if (this.#subscriptions.has(subscription)) return;
    this.#subscriptions.add(subscription);
    const on = this.#current;
    if (on) await this.#run(on, () => this.#subscribe(on, subscription));
    else if (!this.#reconnect) this.#connect();
  }

  async #stop(subscription: Subscription): Promise<void> {
    if (!this.#subscriptions.delete(subscription)) return;
    pause(subscription);
    const on = this.#current;
    if (this.#subscriptions.size > 0) {
      if (on) await inTime(this.#run(on, () => unsubscribe(on.client, subscription)));
      return;
    }
    clearTimeout(this.#reconnect);
    this.#reconnect = undefined;
    this.#current = null;
    if (on) await close(on.client);
  }
}

function pause(subscription: Subscription): void {
  subscription.listens = false;
  clearTimeout(subscription.retry);
}

async function tryLock(client: pg.Client, key: number): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>(
    'select pg_try_advisory_lock($1) as mine',
    [key],
  );
  return rows[0]?.mine === true;
}

/** Another part goes on using the connection. */
async function unsubscribe(client: pg.Client, { channels, locks }: Subscription): Promise<void> {
  for (const channel of channels) await client.query(`unlisten ${channel}`);
  if (locks.exclusive !== undefined)
    await client.query('select pg_advisory_unlock($1)', [locks.exclusive]);
  for (const key of locks.shared?.toReversed() ?? [])
    await client.query(`select pg_advisory_unlock_shared(${argumentsOf(key)})`, [...key]);
}

function argumentsOf(key: readonly number[]): string {
  return key.map((_, index) => `$${index + 1}`).join();
}

async function close(client: pg.Client): Promise<void> {
  await inTime(client.end().catch(() => {}));
  // `unref` is public although its types lack it. It lets the process exit before the connection is closed.
  (client as unknown as { unref(): void }).unref();
}

async function inTime(ended: Promise<void>): Promise<void> {
  await Promise.race([ended, wait(endTimeoutMs, undefined, { ref: false })]);
}

/** Ends a session's statement, and its locks, within seconds after its client was killed. Not every server supports this. */
export async function noticeDeadClients(session: Database): Promise<void> {
  await sql`set client_connection_check_interval = '2s'`.execute(session).catch(() => {});
}
