/** The operations of the console, tried with hostile requests by an operator. */
import { sql } from '../../src/database/database.ts';
import { fillDirectory } from '../support/hostile-directory.ts';
import { testHostileRequests } from '../support/hostile-requests.ts';
import { checkPortalAnswer, portalOpenApi } from '../support/openapi-check.ts';
import { makeOperator } from '../support/operator.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const operator = await makeOperator(service, 'operator@example.org');
const directory = await fillDirectory(database, (path, options) =>
  operator.call(`/operator${path}`, options),
);
const { appId } = await makeKey(service);

async function changes(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from audit_log
  `.execute(database);
  return rows[0]?.count ?? 0;
}

testHostileRequests({
  url: service.url,
  credentials: operator.credentials,
  document: {
    ...portalOpenApi,
    paths: Object.fromEntries(
      Object.entries(portalOpenApi.paths).filter(([path]) => path.includes('/operator/')),
    ),
  },
  check: checkPortalAnswer,
  valid: (target, name) =>
    name === 'slug' || name === 'key'
      ? directory.entryOf(target)
      : name === 'kind'
        ? 'apps'
        : appId,
  body: (example) => example,
  oneIn: 30,
  changes,
  restore: (answer) => directory.restore(answer),
});
