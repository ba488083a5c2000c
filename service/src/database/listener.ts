/** A connection that listens for notifications and reconnects. Notifications may be lost, so callers must also poll. */
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { openClient, type ConnectionSettings } from './database.ts';

export type Listener = { start(): void; stop(): Promise<void> };

const reconnectMs = 500;
/** A server that has stopped responding does not close its side. */
const endTimeoutMs = 500;

/** Calls `onNotice(channel, payload)` for each notification, and `onNotice(null, '')` after every (re)connection, when some may have been missed. */
export function createListener(
  connection: ConnectionSettings,
  channels: string[],
  onNotice: (channel: string | null, payload: string) => void,
): Listener {
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let stopped = true;

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
      for (const channel of channels) await opened.query(`listen ${channel}`);
      if (!stopped) onNotice(null, '');
    } catch {
      void opened.end().catch(() => {});
      reconnect();
    }
  }

  function reconnect(): void {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void connect(), reconnectMs);
  }

  return {
    start() {
      if (!stopped) return;
      stopped = false;
      void connect();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      if (!client) return;
      const ended = client.end().catch(() => {});
      await Promise.race([ended, wait(endTimeoutMs, undefined, { ref: false })]);
      // `unref` is public although its types lack it. It lets the process exit before the connection is closed.
      (client as unknown as { unref(): void }).unref();
    },
  };
}
