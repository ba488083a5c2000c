import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeInternalApi } from '../../support/describe-api.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { internalOpenApi } from '../../support/openapi-check.ts';
import { internalOpenApiFile } from '../../support/openapi-file.ts';
import { testDescription } from '../../support/openapi-rules.ts';
import { startTestService } from '../../support/service.ts';

testDescription({
  file: internalOpenApiFile,
  document: internalOpenApi,
  describe: describeInternalApi,
  open: ['/internal/v1/openapi.json'],
  statuses: { all: ['400', '500'], keyed: ['401', '403', '503'] },
});

test('the internal API serves the committed OpenAPI document', async () => {
  const internal = await startInternalApi(await startTestService());
  const { status, body } = await internal.call('/openapi.json', { key: null });
  assert.equal(status, 200);
  assert.deepEqual(body.servers, [{ url: 'http://127.0.0.1:3001' }]);
  assert.deepEqual(body.paths, JSON.parse(JSON.stringify(internalOpenApi.paths)));
  assert.deepEqual(body.components, internalOpenApi.components);
});
