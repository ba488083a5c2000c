/** openapi.internal.json as text, from the routes of an application that serves nothing. */
import { createKeyCache } from '../../src/access/key-cache.ts';
import { httpAddress, loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createRevisions } from '../../src/database/revisions.ts';
import { createInternalApp } from '../../src/http/internal-app.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { createSyncs } from '../../src/sync/syncs.ts';
import { createReadinessCheck } from '../../src/system/readiness.ts';
import { version } from '../../src/version.ts';

/** As a service with the default configuration describes itself. Connects to nothing. */
export async function describeInternalApi(): Promise<string> {
  const config = loadConfig({});
  const database = openDatabase({}, { applicationName: 'openapi' });
  const metrics = createMetrics();
  const log = createLogger('error');
  const syncs = createSyncs({ config, version, database, connection: {}, metrics, log });
  const app = createInternalApp({
    metrics,
    readiness: createReadinessCheck(database),
    log,
    allowedHosts: config.internal.allowedHosts,
    api: {
      ...config,
      database,
      writes: database,
      keyCache: createKeyCache(database, createRevisions(database, {})),
      syncs,
      version,
      internalUrl: httpAddress(config.internal.host, config.internal.port),
    },
  });
  const answer = await app.inject('/internal/v1/openapi.json');
  await app.close();
  await database.destroy();
  if (answer.statusCode !== 200) throw new Error(answer.body);
  return `${JSON.stringify(answer.json(), null, 2)}\n`;
}
