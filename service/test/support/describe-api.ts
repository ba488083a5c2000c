/** The three OpenAPI files as text, from the routes of a service that serves nothing. */
import { loadConfig } from '../../src/settings/config.ts';
import { createParts } from '../../src/start/create-parts.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { stopParts } from '../../src/start/main.ts';

export const describeApi = () => describe('app', '/api/v1/openapi.json');
export const describePortal = () => describe('app', '/portal/api/openapi.json');
export const describeInternalApi = () => describe('internalApp', '/internal/v1/openapi.json');

/** The OpenAPI document of a service with the default configuration. Connects to nothing. */
async function describe(name: 'app' | 'internalApp', path: string): Promise<string> {
  const database = openDatabase({}, { applicationName: 'openapi' });
  const parts = await createParts({
    config: loadConfig({}),
    database,
    connection: {},
    secretKeys: [Buffer.alloc(32)],
    log: createLogger('silent'),
    print: () => {},
  });
  const answer = await parts[name]?.inject(path);
  await stopParts(parts);
  await database.destroy();
  if (answer?.statusCode !== 200) throw new Error(answer?.body);
  return `${JSON.stringify(answer.json(), null, 2)}\n`;
}
