import type { Database } from '../database/database.ts';
import { compareMigrations, fromBefore, startEmpty } from '../database/migrate.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** `isComplete`: the schema has everything that this version needs. */
export async function checkMigrations(
  database: Database,
): Promise<{ isComplete: boolean; findings: Finding[] }> {
  const differences = await compareMigrations(database);
  const { missing, changed, newer, unusable, beforeBaseline } = differences;
  if (beforeBaseline) {
    const finding = failed('migrations', `this database ${fromBefore}`, startEmpty);
    return { isComplete: false, findings: [finding] };
  }
  const findings: Finding[] = [];
  if (changed.length > 0)
    findings.push(
      failed(
        'migrations',
        `changed after they were applied: ${changed.join(', ')}`,
        'restore the files of the release',
      ),
    );
  if (unusable.length > 0)
    findings.push(
      failed(
        'migrations',
        `a newer version of the service has removed what this version uses: ${unusable.join(', ')}`,
        'run that version or a later one',
      ),
    );
  else if (newer.length > 0)
    findings.push(
      warning(
        'migrations',
        `a newer version of the service has migrated this database, and this version can still run: ${newer.join(', ')}`,
        'upgrade this process too',
      ),
    );
  if (missing.length > 0)
    findings.push(
      warning(
        'migrations',
        `not applied yet: ${missing.join(', ')}`,
        'start the service, or run: orgdir migrate',
      ),
    );
  if (findings.length === 0) findings.push(ok('migrations', 'all migrations are applied'));
  return { isComplete: missing.length === 0, findings };
}
