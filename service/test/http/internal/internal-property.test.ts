import { sql } from '../../../src/database/database.ts';
import { fillDirectory } from '../../support/hostile-directory.ts';
import { testHostileRequests, type Target } from '../../support/hostile-requests.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { checkInternalAnswer, internalOpenApi } from '../../support/openapi-check.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService();
const internal = await startInternalApi(service);
const { database } = service;
const directory = await fillDirectory(database, internal.call);

function valid(target: Target): string {
  return target.path.includes('usage') ? service.appId : directory.entryOf(target);
}

async function changes(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select sum(revision)::int8 + (select count(*) from events) + (select count(*) from outbox) as count
    from revisions where scope <> 'system'
  `.execute(database);
  return rows[0]?.count ?? 0;
}

testHostileRequests({
  url: internal.url,
  credentials: { authorization: `Bearer ${internal.key}` },
  document: internalOpenApi,
  check: checkInternalAnswer,
  valid,
  body: (example) => example,
  oneIn: 10,
  changes,
  restore: (answer) => directory.restore(answer),
});
