/** openapi.json as text, from the routes of an application that serves nothing. */
import { createKeyCache } from '../../src/access/key-cache.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createRevisions } from '../../src/database/revisions.ts';
import { createApp } from '../../src/http/app.ts';
import { createResponseCache } from '../../src/http/response-cache.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { createHealth } from '../../src/system/health.ts';
import { version } from '../../src/version.ts';
import { createSender } from '../../src/webhooks/attempt.ts';
import { systemClock } from '../../src/webhooks/clock.ts';
import { createInFlight } from '../../src/webhooks/in-flight.ts';
import { createSecretBox } from '../../src/webhooks/secrets.ts';
import { createSigningKeys } from '../../src/webhooks/signing-keys.ts';

/** As a service with the default configuration describes itself. Connects to nothing. */
export async function describeApi(): Promise<string> {
  const config = loadConfig({});
  const database = openDatabase({}, { applicationName: 'openapi' });
  const revisions = createRevisions(database, {});
  const health = createHealth(database, revisions);
  const secretBox = createSecretBox([Buffer.alloc(32)]);
  const app = await createApp({
    ...config,
    database,
    health,
    version,
    keyCache: createKeyCache(database, revisions),
    responseCache: createResponseCache(revisions),
    sender: createSender(config.webhooks),
    inFlight: createInFlight(),
    secretBox,
    signingKeys: createSigningKeys(secretBox),
    clock: systemClock,
    metrics: createMetrics(),
    leaseMs: 0,
    deactivateAfter: 1,
    log: createLogger('silent'),
  });
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  await database.destroy();
  return text;
}
