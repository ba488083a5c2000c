/** The service's HTTP application without its response cache, so that every request reads the database. */
import { httpAddress, loadConfig } from '../service/src/settings/config.ts';
import { createParts } from '../service/src/start/create-parts.ts';
import { createApp } from '../service/src/http/app.ts';
import { loadBrand } from '../service/src/http/site/brand.ts';
import { createResponseCache } from '../service/src/http/responses/response-cache.ts';
import { createLogger } from '../service/src/runtime/log.ts';
import { createMetrics } from '../service/src/runtime/metrics.ts';
import { stopParts } from '../service/src/start/main.ts';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';

const config = loadConfig(process.env);
const opened = await openConfiguredDatabase(config, {
  purpose: 'tool',
  applicationName: `orgdir bench, pid ${process.pid}`,
});
const { database, connection } = opened;
const log = createLogger(config.logLevel);
const secretKeys = [Buffer.alloc(32)];
const parts = await createParts({ config, database, connection, secretKeys, log, print: () => {} });
const { signIn, health, revisions } = parts;
if (!signIn) throw new Error('the cold server needs the role api');
const responseCache = createResponseCache(revisions, false);
const brand = await loadBrand(config);
// Of its own: the application of the parts has registered its gauges already.
const metrics = createMetrics();
const app = await createApp({ ...config, ...parts, signIn, responseCache, brand, metrics });
await health.start();
await revisions.start();
await app.listen({ host: config.host, port: config.port });
const bound = app.addresses().find((each) => typeof each !== 'string');
console.log(`Serving at ${httpAddress(config.host, bound?.port ?? 0)}`);

process.once('SIGTERM', () => void stop());
process.once('disconnect', () => void stop());

async function stop(): Promise<void> {
  await app.close();
  await stopParts(parts);
  await opened.close();
  process.exit();
}
