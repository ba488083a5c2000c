import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../../src/events/catalogue.ts';
import { describeApi } from '../support/describe-api.ts';
import { openApi } from '../support/openapi-check.ts';
import { openApiFile } from '../support/openapi-file.ts';
import { testDescription } from '../support/openapi-rules.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

testDescription({
  file: openApiFile,
  document: openApi,
  describe: describeApi,
  open: ['/api/v1/status', '/api/v1/openapi.json'],
  statuses: { all: ['400', '429', '500'], keyed: ['401', '403', '503'] },
});

test('the service serves the committed OpenAPI document', async () => {
  const service = await startTestService();
  const { status, body, headers } = await service.call('/openapi.json', { key: null });
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'public, max-age=300');
  assert.deepEqual(body.servers, [{ url: testPublicUrl }]);
  assert.deepEqual(body.paths, JSON.parse(JSON.stringify(openApi.paths)));
  assert.deepEqual(body.components, openApi.components);
});

test('parameters with defaults and bodies without required fields are optional', () => {
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

test('generators can read it: no enum of booleans, and tags that do not mix requests and webhooks', () => {
  assert.doesNotMatch(JSON.stringify(openApi), /"enum":\[(true|false)/);
  const tagsOf = (items: Record<string, Record<string, { tags?: string[] }>>) =>
    new Set(
      Object.values(items).flatMap((item) => Object.values(item).flatMap(({ tags = [] }) => tags)),
    );
  const { paths, webhooks } = openApi as never as Record<'paths' | 'webhooks', never>;
  assert.deepEqual([...tagsOf(webhooks)], ['Webhook events']);
  assert.ok(!tagsOf(paths).has('Webhook events'));
});

test('clients generated from it survive a new field and a new error code', () => {
  const { paths, webhooks, components } = openApi;
  const requests = new Set(
    Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ requestBody }) => requestBody?.content['application/json']?.schema.$ref),
  );
  const described = { ...components.schemas, ...components.responses, ...webhooks };
  for (const [name, schema] of Object.entries(described))
    assert.equal(
      JSON.stringify(schema).includes('"additionalProperties":false'),
      requests.has(`#/components/schemas/${name}`),
      name,
    );
  const { code } = (components.schemas['ErrorObject'] as any).properties;
  assert.deepEqual([code.type, code.enum], ['string', undefined]);
  assert.match(code.description, /`not_found`/);
});

test('a list in a request has no uniqueItems, which axios clients turn into a set and send as {}', () => {
  assert.doesNotMatch(JSON.stringify(openApi), /uniqueItems/);
});

test('it names the events without closing the list, and refuses U+0000 in text parameters', () => {
  const { paths, components } = openApi as any;
  const { event } = components.schemas.EventRecord.properties;
  assert.equal(event.enum, undefined);
  assert.match(event.description, /`org\.created`/);
  const { events } = components.schemas.WebhookInput.properties;
  assert.match(events.description, /`application\.created`/);
  for (const path of Object.values<any>(paths))
    for (const { parameters = [] } of Object.values<any>(path))
      for (const { in: place, name, schema } of parameters)
        if (place === 'query' && schema.type === 'string' && !schema.enum && !schema.format)
          assert.ok(!new RegExp(schema.pattern ?? '', 'u').test('a\0'), `${name} takes U+0000`);
});

test('a delivery is retried, tests and probes are not', () => {
  for (const [event, { post }] of Object.entries(openApi.webhooks)) {
    const texts = JSON.stringify([post.description, post.responses]);
    assert.equal(/tried again|retried/.test(texts), !event.startsWith('webhook.'), event);
  }
});
