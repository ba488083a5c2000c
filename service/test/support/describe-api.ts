/** openapi.json and openapi.portal.json as text, from the routes of an application that serves nothing. */
import { createKeyCache } from '../../src/access/key-cache.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createRevisions } from '../../src/database/revisions.ts';
import { createApp } from '../../src/http/app.ts';
import { createResponseCache } from '../../src/http/response-cache.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { createSignIn } from '../../src/sign-in/sign-in.ts';
import { createHealth } from '../../src/system/health.ts';
import { version } from '../../src/version.ts';
import { createSender } from '../../src/webhooks/sending/attempt.ts';
import { systemClock } from '../../src/webhooks/sending/clock.ts';
import { createInFlight } from '../../src/webhooks/queue/in-flight.ts';
import { createSecretBox } from '../../src/webhooks/sending/secrets.ts';
import { createSigningKeys } from '../../src/webhooks/sending/signing-keys.ts';

export const describeApi = () => describe('/api/v1/openapi.json');
export const describePortal = () => describe('/portal/api/openapi.json');

/** As a service with the default configuration describes itself. Connects to nothing. */
async function describe(path: string): Promise<string> {
  const config = loadConfig({});
  const database = openDatabase({}, { applicationName: 'openapi' });
  const revisions = createRevisions(database, {});
  const health = createHealth(database, revisions);
  const secretKeys = [Buffer.alloc(32)];
  const secretBox = createSecretBox(secretKeys);
  const log = createLogger('silent');
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
    log,
    signIn: createSignIn({ ...config, database, secretKeys, mailer: null, print: () => {}, log }),
  });
  const answer = await app.inject(path);
  await app.close();
  await database.destroy();
  if (answer.statusCode !== 200) throw new Error(answer.body);
  return `${JSON.stringify(answer.json(), null, 2)}\n`;
}
