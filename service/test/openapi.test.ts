import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../src/events/catalogue.ts';
import { describeApi } from './support/describe-api.ts';
import { openApi } from './support/openapi-check.ts';
import { openApiFile } from './support/openapi-file.ts';
import { testDescription } from './support/openapi-rules.ts';
import { startTestService, testPublicUrl } from './support/service.ts';

testDescription({
  file: openApiFile,
  document: openApi,
  describe: describeApi,
  open: ['/api/v1/status', '/api/v1/openapi.json'],
  statuses: { all: ['400', '429', '500'], keyed: ['401', '403', '503'] },
});

test('the service answers with the same description, under its own address', async () => {
  const service = await startTestService();
  const { status, body, headers } = await service.call('/openapi.json', { key: null });
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'public, max-age=300');
  assert.deepEqual(body.servers, [{ url: testPublicUrl }]);
  assert.deepEqual(body.paths, JSON.parse(JSON.stringify(openApi.paths)));
  assert.deepEqual(body.components, openApi.components);
});

test('parameters that have a default, and bodies without a required field, may be left out', () => {
  const parameters = new Map(
    openApi.paths['/api/v1/orgs']?.['get']?.parameters.map((each) => [each.name, each]),
  );
  assert.equal(parameters.get('page')?.required, false);
  assert.equal(parameters.get('limit')?.required, false);
  const optional = Object.values(openApi.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ requestBody }) => requestBody?.required === false)
    .map(({ operationId }) => operationId);
  assert.deepEqual(optional, ['testWebhook', 'rotateWebhookSecret']);
  assert.equal(openApi.components.schemas['RotateSecretRequest']?.['required'], undefined);
});

test('the webhooks are the events of the catalogue', () => {
  assert.deepEqual(Object.keys(openApi.webhooks), Object.keys(catalogue));
});

test('a delivery is retried, a test is not', () => {
  for (const [event, { post }] of Object.entries(openApi.webhooks)) {
    const texts = JSON.stringify([post.description, post.responses]);
    assert.equal(/tried again|retried/.test(texts), event !== 'webhook.test', event);
  }
});
