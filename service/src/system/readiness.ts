/**
 * Says whether this process can work: the database responds, has every migration that this version needs, and the first
 * load of the search indexes after the start is over.
 */
import type { Database } from '../database/database.ts';
import { listMigrations, listApplied } from '../database/migrate.ts';
import { coalesce } from '../database/coalesce.ts';

export type Readiness =
  | { kind: 'ready' }
  /** `migrations` are the missing ones. */
  | { kind: 'outdated'; migrations: string[] }
  | { kind: 'unreachable' }
  /** `indexes` are those that are not loaded yet. */
  | { kind: 'loading'; indexes: string[] }
  | { kind: 'stopping' };

export type ReadinessCheck = {
  check(): Promise<Readiness>;
  /** From now on the process is not ready, so that load balancers stop sending requests. */
  stop(): void;
};

/** Shorter than the usual probe timeout of a second. One check serves all probes within a moment. */
const bounds = { timeoutMs: 900, reuseMs: 100 };
/** If the indexes cannot be loaded although the database responds, the rest of the API is better than nothing. */
export const failingMaxMs = 60_000;
type Loading = { indexes: string[]; failingSince: number | null };

/** `readLoading` returns the indexes that this process needs and has not loaded since its start, and since when that fails. */
export function createReadinessCheck(
  database: Database,
  readLoading: () => Loading = () => ({ indexes: [], failingSince: null }),
  now = () => performance.now(),
): ReadinessCheck {
  // Additional migrations of a newer version are fine: both versions run while one replaces the other.
  const needed = listMigrations();
  needed.catch(() => {});
  let stopping = false;
  /** Since when the database responds. */
  let respondsSince: number | null = null;
  const findMissing = coalesce(async () => {
    const applied = new Set(await listApplied(database));
    return (await needed).filter((name) => !applied.has(name));
  }, bounds);
  return {
    async check() {
      if (stopping) return { kind: 'stopping' };
      try {
        const migrations = await findMissing();
        if (migrations.length > 0) return { kind: 'outdated', migrations };
        respondsSince ??= now();
        const { indexes, failingSince } = readLoading();
        const failingMs = now() - Math.max(failingSince ?? Infinity, respondsSince);
        return indexes.length > 0 && failingMs < failingMaxMs
          ? { kind: 'loading', indexes }
          : { kind: 'ready' };
      } catch {
        respondsSince = null;
        return { kind: 'unreachable' };
      }
    },
    stop() {
      stopping = true;
    },
  };
}
