/**
 * Keeps connections to receivers, by origin. Each serves one request at a time and is then kept for the next.
 * `docs/decisions/0010-attempts.md` says why this is not undici's own pool, and how long they idle.
 */
import { LRUCache } from 'lru-cache';

export type Connection = {
  on(event: 'disconnect', listener: () => void): unknown;
  destroy(): Promise<void>;
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

export class Connections<C extends Connection> {
  readonly #open: (origin: string, idleMs: number) => C;
  readonly #limits: ConnectionLimits;
  readonly #openedAt = new Map<C, number>();
  /** The one used last is at the end. */
  readonly #idleByOrigin = new Map<string, C[]>();
  /** The one that has been idle for longest is first. */
  readonly #idleOrigins = new Map<C, string>();
  readonly #suspects = new LRUCache<string, true>({ max: suspectsMax, ttl: suspectMs });
  #closed = false;

  /** `open` opens a connection that closes after `idleMs` without a request. */
  constructor(open: (origin: string, idleMs: number) => C, limits: ConnectionLimits) {
    this.#open = open;
    this.#limits = limits;
  }

  /** Returns the idle connection that was used last. */
  takeIdle(origin: string): C | null {
    const list = this.#idleByOrigin.get(origin);
    for (let last = list?.at(-1); last !== undefined; last = list?.at(-1)) {
      this.#removeIdle(last);
      if (this.#isUsable(last)) return last;
      this.drop(last);
    }
    return null;
  }

  /** After `close` the connection is already destroyed. */
  open(origin: string): C {
    const idleMs = this.#suspects.has(origin) ? suspectIdleMs : this.#limits.usableMs;
    const connection = this.#open(origin, idleMs);
    if (this.#closed) {
      void connection.destroy();
      return connection;
    }
    this.#openedAt.set(connection, performance.now());
    connection.on('disconnect', () => {
      if (this.#removeIdle(connection)) this.drop(connection);
    });
    return connection;
  }

  /** Call after a request that ended well. After any other, call `drop`. */
  release(origin: string, connection: C): void {
    const list = this.#idleByOrigin.get(origin);
    if (list) list.push(connection);
    else this.#idleByOrigin.set(origin, [connection]);
    this.#idleOrigins.set(connection, origin);
    if (this.#idleOrigins.size > this.#limits.idleMax) this.#dropLongestIdle();
  }

  drop(connection: C): void {
    this.#openedAt.delete(connection);
    void connection.destroy();
  }

  /** Call if a reused connection failed. The origin's next connections idle for a few seconds only. */
  suspect(origin: string): void {
    this.#suspects.set(origin, true);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#openedAt.keys()];
    this.#openedAt.clear();
    this.#idleByOrigin.clear();
    this.#idleOrigins.clear();
    await Promise.all(all.map((connection) => connection.destroy()));
  }

  /** Returns whether the connection was idle. */
  #removeIdle(connection: C): boolean {
    const origin = this.#idleOrigins.get(connection);
    if (origin === undefined) return false;
    this.#idleOrigins.delete(connection);
    const list = this.#idleByOrigin.get(origin) ?? [];
    list.splice(list.lastIndexOf(connection), 1);
    if (list.length === 0) this.#idleByOrigin.delete(origin);
    return true;
  }

  #dropLongestIdle(): void {
    const [connection] = this.#idleOrigins.keys();
    if (connection && this.#removeIdle(connection)) this.drop(connection);
  }

  #isUsable(connection: C): boolean {
    return performance.now() - (this.#openedAt.get(connection) ?? 0) < this.#limits.usableMs;
  }
}
