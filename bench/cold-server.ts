/** The service's HTTP application with its response cache off: every request reads the database. Only for measuring. */
import { createKeyCache } from '../service/src/access/key-cache.ts';
import { httpAddress, loadConfig } from '../service/src/config.ts';
import { createRevisions } from '../service/src/database/revisions.ts';
import { createApp } from '../service/src/http/app.ts';
import { createResponseCache } from '../service/src/http/response-cache.ts';
import { createLogger } from '../service/src/log.ts';
import { openConfiguredDatabase } from '../service/src/open-database.ts';
import { createMetrics } from '../service/src/metrics.ts';
import { createSignIn } from '../service/src/sign-in/sign-in.ts';
import { createHealth } from '../service/src/system/health.ts';
import { createSender } from '../service/src/webhooks/sending/attempt.ts';
import { systemClock } from '../service/src/webhooks/sending/clock.ts';
import { createInFlight } from '../service/src/webhooks/queue/in-flight.ts';
import { createSecretBox } from '../service/src/webhooks/sending/secrets.ts';
import { createSigningKeys } from '../service/src/webhooks/sending/signing-keys.ts';

const config = loadConfig(process.env);
const opened = await openConfiguredDatabase(config, {
  purpose: 'tool',
  applicationName: `orgdir bench, pid ${process.pid}`,
});
const { database, connection } = opened;
const revisions = createRevisions(database, connection);
const health = createHealth(database, revisions);
const keyCache = createKeyCache(database, revisions);
const secretKeys = [Buffer.alloc(32)];
const secretBox = createSecretBox(secretKeys);
const log = createLogger(config.logLevel);
const app = await createApp({
  ...config,
  database,
  health,
  keyCache,
  responseCache: createResponseCache(revisions, false),
  sender: createSender(config.webhooks),
  secretBox,
  signingKeys: createSigningKeys(secretBox),
  clock: systemClock,
  metrics: createMetrics(),
  inFlight: createInFlight(),
  version: 'bench',
  log,
  signIn: createSignIn({ ...config, database, secretKeys, mailer: null, print: () => {}, log }),
  leaseMs: config.webhooks.timeoutMs,
  deactivateAfter: config.webhooks.deactivateAfter,
});
await health.start();
await revisions.start();
await app.listen({ host: config.host, port: config.port });
const bound = app.addresses().find((each) => typeof each !== 'string');
console.log(`Serving at ${httpAddress(config.host, bound?.port ?? 0)}`);

process.once('SIGTERM', () => void stop());
process.once('disconnect', () => void stop());

async function stop(): Promise<void> {
  await app.close();
  await Promise.all([health.stop(), revisions.stop(), keyCache.stop()]);
  await opened.close();
  process.exit();
}
