/** Says whether this process can work: the database responds and has every migration that this version needs. */
import type { Database } from '../database/database.ts';
import { listMigrations, listApplied } from '../database/migrate.ts';
import { coalesce } from '../database/coalesce.ts';

export type Readiness =
  | { kind: 'ready' }
  /** `migrations` are the missing ones. */
  | { kind: 'outdated'; migrations: string[] }
  | { kind: 'unreachable' }
  | { kind: 'stopping' };

export type ReadinessCheck = {
  check(): Promise<Readiness>;
  /** From now on the process is not ready, so that load balancers stop sending requests. */
  stop(): void;
};

/** Shorter than the usual probe timeout of a second. One check serves all probes within a moment. */
const bounds = { timeoutMs: 900, reuseMs: 100 };

export function createReadinessCheck(database: Database): ReadinessCheck {
  // Additional migrations of a newer version are fine: both versions run while one replaces the other.
  const needed = listMigrations();
  needed.catch(() => {});
  let stopping = false;
  const findMissing = coalesce(async () => {
    const applied = new Set(await listApplied(database));
    return (await needed).filter((name) => !applied.has(name));
  }, bounds);
  return {
    async check() {
      if (stopping) return { kind: 'stopping' };
      try {
        const migrations = await findMissing();
        return migrations.length === 0 ? { kind: 'ready' } : { kind: 'outdated', migrations };
      } catch {
        return { kind: 'unreachable' };
      }
    },
    stop() {
      stopping = true;
    },
  };
}
