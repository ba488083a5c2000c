/** The internal API beside a test's service: on a socket of its own, every answer held against openapi.internal.json. */
import { after } from 'node:test';
import { createKeyCache } from '../../src/access/key-cache.ts';
import { createPlatformKey } from '../../src/access/keys.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createInternalApp } from '../../src/http/internal-app.ts';
import { createLogger, type Logger } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { createSyncs } from '../../src/sync/syncs.ts';
import { createReadinessCheck } from '../../src/system/readiness.ts';
import { testActor } from './actor.ts';
import { checkInternalAnswer } from './openapi-check.ts';
import { send, testPublicUrl, type Answer, type CallOptions, type TestService } from './service.ts';

export type TestInternalApi = {
  url: string;
  /** Of the platform. */
  key: string;
  keyId: string;
  /** `path` is below `/internal/v1`. Sends `key` unless told otherwise. */
  call: (path: string, options?: CallOptions) => Promise<Answer>;
};

export async function startInternalApi(
  service: Pick<TestService, 'database' | 'connection' | 'revisions' | 'metrics'>,
  {
    env = {},
    settings = {},
    log = createLogger('silent'),
  }: { env?: Record<string, string>; settings?: Record<string, string>; log?: Logger } = {},
): Promise<TestInternalApi> {
  const { database, connection, revisions, metrics } = service;
  const config = loadConfig({ PUBLIC_URL: testPublicUrl, ...env });
  const version = '0.0.0-test';
  // Figures of its own, for several of these may stand beside one service.
  const syncs = createSyncs({ ...service, config, version, metrics: createMetrics(), log });
  const keyCache = createKeyCache(database, revisions);
  const writes = openDatabase(connection, { applicationName: 'test', poolSize: 4, settings });
  const app = createInternalApp({
    metrics,
    readiness: createReadinessCheck(database),
    log,
    allowedHosts: config.internal.allowedHosts,
    api: {
      ...config,
      database,
      writes,
      keyCache,
      syncs,
      internalUrl: 'http://internal.test',
      version,
    },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { id: keyId, key } = await database
    .transaction()
    .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));
  after(async () => {
    await app.close();
    await Promise.all([keyCache.stop(), syncs.stop(), writes.destroy()]);
  });
  return {
    url,
    key,
    keyId,
    call: (path, options = {}) =>
      send(`${url}/internal/v1`, path, { key, ...options }, checkInternalAnswer),
  };
}
