/**
 * Keeps connections to receivers, by origin. Each serves one request at a time and is then kept for the next.
 * `docs/decisions/0010-attempts.md` says why this is not undici's own pool, and how long they idle.
 */
import { LRUCache } from 'lru-cache';

export type Connection = {
  on(event: 'disconnect', listener: () => void): unknown;
  destroy(): Promise<void>;
};

export type Connections<C extends Connection> = {
  /** Returns the idle connection that was used last. */
  takeIdle(origin: string): C | null;
  /** After `close` the connection is already destroyed. */
  open(origin: string): C;
  /** Call after a request that ended well. After any other, call `drop`. */
  release(origin: string, connection: C): void;
  drop(connection: C): void;
  /** Call if a reused connection failed. The origin's next connections idle for a few seconds only. */
  suspect(origin: string): void;
  close(): Promise<void>;
};

export type ConnectionLimits = {
  /** A connection older than this takes no further request. */
  usableMs: number;
  /** Idle connections to all origins. */
  idleMax: number;
};

/** Many servers close an idle connection after five seconds without notice; this is shorter. */
const suspectIdleMs = 4_000;
const suspectMs = 60 * 60_000;
const suspectsMax = 2_000;

/** `open` opens a connection that closes after `idleMs` without a request. */
export function createConnections<C extends Connection>(
  open: (origin: string, idleMs: number) => C,
  { usableMs, idleMax }: ConnectionLimits,
): Connections<C> {
  const openedAt = new Map<C, number>();
  /** The one used last is at the end. */
  const idleByOrigin = new Map<string, C[]>();
  /** The one that has been idle for longest is first. */
  const idleOrigins = new Map<C, string>();
  const suspects = new LRUCache<string, true>({ max: suspectsMax, ttl: suspectMs });
  let closed = false;

  function openConnection(origin: string): C {
    const connection = open(origin, suspects.has(origin) ? suspectIdleMs : usableMs);
    if (closed) {
      void connection.destroy();
      return connection;
    }
    openedAt.set(connection, performance.now());
    connection.on('disconnect', () => {
      if (removeIdle(connection)) drop(connection);
    });
    return connection;
  }

  /** Returns whether the connection was idle. */
  function removeIdle(connection: C): boolean {
    const origin = idleOrigins.get(connection);
    if (origin === undefined) return false;
    idleOrigins.delete(connection);
    const list = idleByOrigin.get(origin) ?? [];
    list.splice(list.lastIndexOf(connection), 1);
    if (list.length === 0) idleByOrigin.delete(origin);
    return true;
  }

  function drop(connection: C): void {
    openedAt.delete(connection);
    void connection.destroy();
  }

  function dropLongestIdle(): void {
    const [connection] = idleOrigins.keys();
    if (connection && removeIdle(connection)) drop(connection);
  }

  function isUsable(connection: C): boolean {
    return performance.now() - (openedAt.get(connection) ?? 0) < usableMs;
  }

  return {
    takeIdle(origin) {
      const list = idleByOrigin.get(origin);
      for (let last = list?.at(-1); last !== undefined; last = list?.at(-1)) {
        removeIdle(last);
        if (isUsable(last)) return last;
        drop(last);
      }
      return null;
    },
    open: openConnection,
    release(origin, connection) {
      const list = idleByOrigin.get(origin);
      if (list) list.push(connection);
      else idleByOrigin.set(origin, [connection]);
      idleOrigins.set(connection, origin);
      if (idleOrigins.size > idleMax) dropLongestIdle();
    },
    drop,
    suspect: (origin) => void suspects.set(origin, true),
    async close() {
      closed = true;
      const all = [...openedAt.keys()];
      openedAt.clear();
      idleByOrigin.clear();
      idleOrigins.clear();
      await Promise.all(all.map((connection) => connection.destroy()));
    },
  };
}
