/** A connection that listens for notifications and reconnects. Notifications may be lost, so callers must also poll. */
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { openClient, type ConnectionSettings } from './database.ts';

export type Listener = {
  start(): void;
  stop(): Promise<void>;
  /** Whether notifications arrive here at the moment. */
  listens(): boolean;
};

const reconnectMs = 500;
/** A server that has stopped responding does not close its side. */
const endTimeoutMs = 500;

/** How often a process tries to become the one that listens. */
const lockRetryMs = 1_000;

type Locks = {
  /** An advisory lock: only the one process that holds it listens. */
  exclusive?: number;
  /** An advisory lock that the connection shares with others, which count its holders. */
  shared?: number;
};

/**
 * Calls `onNotice(channel, payload)` for each notification, and `onNotice(null, '')` after every (re)connection, when
 * some may have been missed.
 */
export function createListener(
  connection: ConnectionSettings,
  channels: string[],
  onNotice: (channel: string | null, payload: string) => void,
  { exclusive, shared }: Locks = {},
): Listener {
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let stopped = true;
  let listening = false;

  async function connect(): Promise<void> {
    const opened = openClient(connection, {
      applicationName: `orgdir listener, pid ${process.pid}`,
    });
    client = opened;
    opened.on('error', () => {});
    opened.on('notification', ({ channel, payload }) => onNotice(channel, payload ?? ''));
    opened.once('end', reconnect);
    try {
      await opened.connect();
      if (exclusive !== undefined) await waitForLock(opened, exclusive);
      if (shared !== undefined) await opened.query('select pg_advisory_lock_shared($1)', [shared]);
      for (const channel of channels) await opened.query(`listen ${channel}`);
      if (stopped) return;
      listening = true;
      onNotice(null, '');
    } catch {
      void opened.end().catch(() => {});
      reconnect();
    }
  }

  async function waitForLock(opened: pg.Client, key: number): Promise<void> {
    while (!stopped) {
      const { rows } = await opened.query('select pg_try_advisory_lock($1) as mine', [key]);
      if (rows[0].mine) return;
      await wait(lockRetryMs, undefined, { ref: false });
    }
  }

  function reconnect(): void {
    listening = false;
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void connect(), reconnectMs);
  }

  return {
    start() {
      if (!stopped) return;
      stopped = false;
      void connect();
    },
    listens: () => listening,
    async stop() {
      stopped = true;
      listening = false;
      clearTimeout(timer);
      if (!client) return;
      const ended = client.end().catch(() => {});
      await Promise.race([ended, wait(endTimeoutMs, undefined, { ref: false })]);
      // `unref` is public although its types lack it. It lets the process exit before the connection is closed.
      (client as unknown as { unref(): void }).unref();
    },
  };
}
