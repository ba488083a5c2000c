/** The operations of the console, tried with hostile requests by an operator. */
import { setOperator } from '../../src/sign-in/operators.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { codeOf } from '../support/authenticator.ts';
import { testHostileRequests } from '../support/hostile-requests.ts';
import { checkPortalAnswer, portalOpenApi } from '../support/openapi-check.ts';
import { signUp } from '../support/portal.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const operator = await signUp(service, 'operator@example.org');
const post = (path: string, json: object) => operator.call(path, { method: 'POST', json });
const { body } = await post('/account/authenticator', {});
await post('/account/authenticator/confirm', { code: codeOf(body.data.secret) });
await database
  .transaction()
  .execute((tx) => setOperator(tx, testActor, { account: operator.email, role: 'operator' }));
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
  valid: (_, name) => (name === 'kind' ? 'apps' : appId),
  body: (example) => example,
  oneIn: 30,
  changes,
});
