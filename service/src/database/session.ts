/**
 * The one connection of a process that keeps its session: it listens for notifications and holds advisory locks for all
 * parts. It never leads through a pooler. It is open while a part listens, and reconnects. Notifications may be lost, so
 * callers must also poll.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { directConnection, openClient, type ConnectionSettings } from './database.ts';

export type Session = {
  /**
   * Calls `onNotice(channel, payload)` for each notification, and `onNotice(null, '')` after every (re)connection, when
   * some may have been missed.
   */
  createListener(channels: string[], onNotice: OnNotice, locks?: Locks): Listener;
};

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
  /** An advisory lock that the process shares with others, which count its holders. */
  shared?: number;
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

export function createSession(settings: ConnectionSettings): Session {
  const subscriptions = new Set<Subscription>();
  let current: Connection | null = null;
  let reconnect: NodeJS.Timeout | undefined;

  function connect(): void {
    reconnect = undefined;
    const client = openClient(directConnection(settings), {
      applicationName: `orgdir listener, pid ${process.pid}`,
    });
    const opened = { client, statements: Promise.resolve() };
    current = opened;
    client.on('error', () => {});
    client.on('notification', ({ channel, payload }) => {
      for (const { channels, onNotice } of subscriptions)
        if (channels.includes(channel)) onNotice(channel, payload ?? '');
    });
    client.once('end', () => lose(opened));
    void run(opened, async () => void (await client.connect()));
    for (const each of subscriptions) void run(opened, () => subscribe(opened, each));
  }

  /** Runs what belongs together after everything before it. A connection with an error is replaced. */
  function run(on: Connection, act: () => Promise<void>): Promise<void> {
    on.statements = on.statements
      .then(() => (on === current ? act() : undefined))
      .catch(() => lose(on));
    return on.statements;
  }

  function lose(lost: Connection): void {
    if (lost !== current) return;
    current = null;
    void lost.client.end().catch(() => {});
    for (const each of subscriptions) pause(each);
    reconnect = setTimeout(connect, reconnectMs);
  }

  async function subscribe(on: Connection, subscription: Subscription): Promise<void> {
    if (!subscriptions.has(subscription)) return;
    const { channels, onNotice, locks } = subscription;
    if (locks.exclusive !== undefined && !(await tryLock(on.client, locks.exclusive))) {
      const again = () => void run(on, () => subscribe(on, subscription));
      subscription.retry = setTimeout(again, lockRetryMs).unref();
      return;
    }
    if (locks.shared !== undefined)
      await on.client.query('select pg_advisory_lock_shared($1)', [locks.shared]);
    for (const channel of channels) await on.client.query(`listen ${channel}`);
    if (!subscriptions.has(subscription)) return;
    subscription.listens = true;
    onNotice(null, '');
  }

  async function start(subscription: Subscription): Promise<void> {
    if (subscriptions.has(subscription)) return;
    subscriptions.add(subscription);
    const on = current;
    if (on) await run(on, () => subscribe(on, subscription));
    else if (!reconnect) connect();
  }

  async function stop(subscription: Subscription): Promise<void> {
    if (!subscriptions.delete(subscription)) return;
    pause(subscription);
    const on = current;
    if (subscriptions.size > 0) {
      if (on) await inTime(run(on, () => unsubscribe(on.client, subscription)));
      return;
    }
    clearTimeout(reconnect);
    reconnect = undefined;
    current = null;
    if (on) await close(on.client);
  }

  return {
    createListener(channels, onNotice, locks = {}) {
      const subscription: Subscription = {
        channels,
        onNotice,
        locks,
        listens: false,
        retry: undefined,
      };
      return {
        start: () => void start(subscription),
        stop: () => stop(subscription),
        listens: () => subscription.listens,
      };
    },
  };
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
  if (locks.shared !== undefined)
    await client.query('select pg_advisory_unlock_shared($1)', [locks.shared]);
}

async function close(client: pg.Client): Promise<void> {
  await inTime(client.end().catch(() => {}));
  // `unref` is public although its types lack it. It lets the process exit before the connection is closed.
  (client as unknown as { unref(): void }).unref();
}

async function inTime(ended: Promise<void>): Promise<void> {
  await Promise.race([ended, wait(endTimeoutMs, undefined, { ref: false })]);
}
