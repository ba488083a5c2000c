/**
 * Keeps connections to receivers, by origin. Each serves one request at a time and is then kept for the next.
 * `docs/decisions/0010-attempts.md` says why this is not undici's own pool.
 */

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
  close(): Promise<void>;
};

/** A connection older than `usableMs` takes no further request. */
export function createConnections<C extends Connection>(
  open: (origin: string) => C,
  usableMs: number,
): Connections<C> {
  const openedAt = new Map<C, number>();
  const idle = new Map<string, C[]>();
  let closed = false;

  function openConnection(origin: string): C {
    const connection = open(origin);
    if (closed) {
      void connection.destroy();
      return connection;
    }
    openedAt.set(connection, performance.now());
    connection.on('disconnect', () => {
      if (removeIdle(origin, connection)) drop(connection);
    });
    return connection;
  }

  /** Returns whether the connection was idle. */
  function removeIdle(origin: string, connection: C): boolean {
    const list = idle.get(origin) ?? [];
    const index = list.indexOf(connection);
    if (index < 0) return false;
    list.splice(index, 1);
    if (list.length === 0) idle.delete(origin);
    return true;
  }

  function drop(connection: C): void {
    openedAt.delete(connection);
    void connection.destroy();
  }

  function isUsable(connection: C): boolean {
    return performance.now() - (openedAt.get(connection) ?? 0) < usableMs;
  }

  return {
    takeIdle(origin) {
      const list = idle.get(origin);
      for (let last = list?.pop(); last !== undefined; last = list?.pop()) {
        if (list?.length === 0) idle.delete(origin);
        if (isUsable(last)) return last;
        drop(last);
      }
      return null;
    },
    open: openConnection,
    release(origin, connection) {
      const list = idle.get(origin);
      if (list) list.push(connection);
      else idle.set(origin, [connection]);
    },
    drop,
    async close() {
      closed = true;
      const all = [...openedAt.keys()];
      openedAt.clear();
      idle.clear();
      await Promise.all(all.map((connection) => connection.destroy()));
    },
  };
}
