import type { ConnectionSettings } from '../database/database.ts';
import { findDirectFault, findPoolerAdvice, findPoolerFault } from '../database/pooler.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

const see = 'see "Pooler" in docs/operations.md';

/** Checks the pooler in `pooledUrl`, if there is one, and that `direct` leads through none. */
export async function checkPooler(
  direct: ConnectionSettings,
  pooledUrl: string | null,
): Promise<Finding[]> {
  const variable = pooledUrl === null ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  try {
    const fault =
      (await findDirectFault(direct, variable)) ??
      (pooledUrl && (await findPoolerFault({ connectionString: pooledUrl, direct })));
    if (fault) return [failed('pooler', fault, see)];
    if (pooledUrl === null) return [];
    const slow = await findPoolerAdvice({ connectionString: pooledUrl, direct });
    return slow
      ? [warning('pooler', slow, see)]
      : [ok('pooler', 'it shares connections by transaction, and leads to the same database')];
  } catch (error) {
    // Another check reports a server that cannot be reached.
    if (pooledUrl === null) return [];
    const reason = (error as Error).message.split('\n')[0];
    return [
      failed(
        'pooler',
        `the database cannot be used through the pooler: ${reason}`,
        'check DATABASE_URL, and that the pooler runs',
      ),
    ];
  }
}
