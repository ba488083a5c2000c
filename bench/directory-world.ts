/** A service of a checkout with a large directory, for benchmarks of reads and searches. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createApp } from '../service/src/access/apps.ts';
import { createKey } from '../service/src/access/keys.ts';
import type { Database } from '../service/src/database/database.ts';
import type { Figure } from '../harness/figures.ts';
import type { DirectoryFiles } from './directory-data.ts';

export type DirectoryEnv = ReturnType<typeof directoryEnv>;

export function directoryEnv(folder: string) {
  return {
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
    LOG_LEVEL: 'warn',
    // High enough to reject nothing, but every request is counted.
    RATE_LIMIT_PER_MINUTE: '1000000000',
  };
}

/** Times the import of the first organisations. */
export function importAll(
  files: DirectoryFiles,
  checkout: string,
  processEnv: DirectoryEnv,
): Figure {
  const run = (...args: string[]) => runOrgdir(checkout, processEnv, ...args);
  run('import', 'alliances', files.alliances);
  const startedAt = performance.now();
  run('import', 'orgs', files.firstOrgs);
  const seconds = (performance.now() - startedAt) / 1000;
  // Some of the made-up names are those of the first file.
  run('import', 'orgs', files.otherOrgs, '--allow-duplicates');
  run('import', 'blueprints', files.blueprints);
  return {
    name: 'import of 30,000 organisations',
    reached: seconds,
    unit: 's',
    asked: { atMost: 15 },
  };
}

export function runOrgdir(checkout: string, processEnv: DirectoryEnv, ...args: string[]): string {
  log(`orgdir ${args.slice(0, 2).join(' ')}`);
  const { status, stdout, stderr } = spawnSync('npx', ['orgdir', ...args], {
    cwd: checkout,
    env: { ...process.env, ...processEnv },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`orgdir ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

export async function makeKey(database: Database): Promise<string> {
  const actor = { kind: 'system', id: null, name: 'bench' } as const;
  const { key } = await database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, actor, { name: 'Bench', owner: 'bench@example.org' });
    return createKey(tx, actor, {
      appId,
      name: 'bench',
      scopes: ['read:directory'],
      expiresAt: null,
    });
  });
  return key;
}

export function log(step: string): void {
  console.error(`… ${step}`);
}
