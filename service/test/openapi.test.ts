import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { catalogue } from '../src/events/catalogue.ts';
import { describeApi } from './support/describe-api.ts';
import { openApi } from './support/openapi-check.ts';
import { openApiFile } from './support/openapi-file.ts';
import { startTestService, testPublicUrl } from './support/service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('.', openApiFile));
const program = (name: string) => fileURLToPath(new URL(`node_modules/.bin/${name}`, openApiFile));

const operations = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test('the committed openapi.json is what the routes say (npm run openapi writes it)', async () => {
  assert.equal(await describeApi(), await readFile(openApiFile, 'utf8'));
});

test('it passes spectral with spectral:oas, hints included', async () => {
  const { stdout } = await run(
    program('spectral'),
    ['lint', '--fail-severity=hint', 'openapi.json'],
    { cwd: root },
  );
  assert.match(stdout, /No results/);
});

test('it passes redocly with the recommended rules, without a warning', async () => {
  const { stdout, stderr } = await run(
    program('redocly'),
    ['lint', '--format=json', 'openapi.json'],
    // No look for a newer version, no report of use: nothing leaves this machine.
    {
      cwd: root,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  assert.deepEqual(JSON.parse(stdout).totals, { errors: 0, warnings: 0, ignored: 0 }, stderr);
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

test('every operation says who may call it, how it fails, and what an answer looks like', () => {
  for (const { path, method, operation } of operations) {
    const name = `${method} ${path}`;
    const open = ['/api/v1/status', '/api/v1/openapi.json'].includes(path);
    assert.deepEqual(operation.security, open ? [] : [{ bearer: [] }, { apiKey: [] }], name);
    const expected = ['400', '429', '500', ...(open ? [] : ['401', '403', '503'])];
    for (const status of expected) assert.ok(operation.responses[status], `${name} ${status}`);
    for (const [status, answer] of Object.entries(operation.responses)) {
      if (status === '304') continue;
      const { content } = resolve(answer);
      const media = content?.['application/json'];
      assert.ok(media?.example ?? media?.examples, `${name} ${status} has an example`);
    }
  }
});

test('every example fits its schema', () => {
  const ajv = new Ajv2020({ strict: false });
  ajvFormats.default(ajv);
  ajv.addSchema(openApi, 'openapi.json');
  let examples = 0;
  visit(openApi, (node) => {
    if (!node.schema) return;
    // A reference inside the document, seen from a schema that stands alone.
    const schema = JSON.parse(
      JSON.stringify(node.schema).replaceAll('"#/', '"openapi.json#/'),
    ) as object;
    for (const example of examplesOf(node)) {
      examples += 1;
      assert.ok(ajv.validate(schema, example), `${ajv.errorsText()}: ${JSON.stringify(example)}`);
    }
  });
  assert.ok(examples > 50);
});

test('every field, parameter and header is described', () => {
  for (const [name, schema] of Object.entries(openApi.components.schemas)) {
    assert.ok(schema['description'] ?? /(List|Response)$/.test(name), name);
    for (const [field, described] of Object.entries(
      (schema['properties'] ?? {}) as Record<string, { description?: string; anyOf?: unknown }>,
    )) {
      const refers = JSON.stringify(described).includes('"$ref"');
      assert.ok(described.description ?? refers, `${name}.${field}`);
    }
  }
  for (const { path, operation } of operations)
    for (const parameter of operation.parameters)
      assert.ok(parameter.description, `${path} ${parameter.name}`);
});

test('parameters that have a default, and bodies without a required field, may be left out', () => {
  const parameters = new Map(
    openApi.paths['/api/v1/orgs']?.['get']?.parameters.map((each) => [each.name, each]),
  );
  assert.equal(parameters.get('page')?.required, false);
  assert.equal(parameters.get('limit')?.required, false);
  const optional = operations
    .filter(({ operation }) => operation.requestBody?.required === false)
    .map(({ operation }) => operation.operationId);
  assert.deepEqual(optional, ['testWebhook', 'rotateWebhookSecret']);
  assert.equal(openApi.components.schemas['RotateSecretRequest']?.['required'], undefined);
});

test('the webhooks are the events of the catalogue', () => {
  assert.deepEqual(Object.keys(openApi.webhooks), Object.keys(catalogue));
});

type Answer = { content?: Record<string, { example?: unknown; examples?: unknown }> };

function resolve(answer: object): Answer {
  if (!('$ref' in answer)) return answer;
  return openApi.components.responses[String(answer.$ref).split('/').at(-1) ?? ''] as Answer;
}

type Node = { schema?: object; example?: unknown; examples?: Record<string, { value: unknown }> };

function visit(node: unknown, see: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return;
  see(node);
  for (const child of Object.values(node)) visit(child, see);
}

function examplesOf({ example, examples }: Node): unknown[] {
  return [
    ...(example === undefined ? [] : [example]),
    ...Object.values(examples ?? {}).map(({ value }) => value),
  ];
}
