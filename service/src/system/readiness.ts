/** Whether this process can do its work: the database answers, and has every migration that this version needs. */
import type { Database } from '../database/database.ts';
import { listMigrations, listApplied } from '../database/migrate.ts';
import { shareAnswer } from '../database/shared-answer.ts';

export type Readiness =
  | { kind: 'ready' }
  /** `migrations` are those that the database lacks. */
  | { kind: 'outdated'; migrations: string[] }
  | { kind: 'unreachable' }
  | { kind: 'stopping' };

export type ReadinessCheck = {
  check(): Promise<Readiness>;
  /** From now on it is not ready: whoever balances load sends nothing more. */
  stop(): void;
};

/** Below what those who ask wait by default, mostly a second; one look serves all who ask within a moment. */
const bounds = { withinMs: 900, standsForMs: 100 };

export function createReadinessCheck(database: Database): ReadinessCheck {
  // What a newer version has added beside them is no fault: both run while one replaces the other.
  const needed = listMigrations();
  needed.catch(() => {});
  let stopping = false;
  const ask = shareAnswer(async () => {
    const applied = new Set(await listApplied(database));
    return (await needed).filter((name) => !applied.has(name));
  }, bounds);
  return {
    async check() {
      if (stopping) return { kind: 'stopping' };
      try {
        const migrations = await ask();
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
