import type { Database } from '../database/database.ts';
import { compareMigrations } from '../database/migrate.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** `isComplete`: all that this version needs is there. */
export async function checkMigrations(
  database: Database,
): Promise<{ isComplete: boolean; findings: Finding[] }> {
  const { missing, changed, newer } = await compareMigrations(database);
  const findings: Finding[] = [];
  if (changed.length > 0)
    findings.push(
      failed(
        'migrations',
        `changed after they were applied here: ${changed.join(', ')}`,
        'bring back the files of the release',
      ),
    );
  if (newer.length > 0)
    findings.push(
      failed(
        'migrations',
        `a newer version of the service was here: ${newer.join(', ')}`,
        'run that version or a later one',
      ),
    );
  if (missing.length > 0)
    findings.push(
      warning(
        'migrations',
        `not applied yet: ${missing.join(', ')}`,
        'the next start applies them, and so does: orgdir migrate',
      ),
    );
  if (findings.length === 0) findings.push(ok('migrations', 'all are applied'));
  return { isComplete: missing.length === 0, findings };
}
