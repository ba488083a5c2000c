/** The rules for all OpenAPI documents: they match the routes, are valid, and describe every field. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { OpenApiDocument } from './openapi-check.ts';
import { openApiFile, redoclyEnv, rootProgram } from './openapi-file.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('.', openApiFile));

type Rules = {
  file: URL;
  document: OpenApiDocument;
  /** The current OpenAPI document of the routes. */
  describe: () => Promise<string>;
  /** Paths that need no key. */
  open: string[];
  /** The statuses that every operation, and every one with a key, must know. */
  statuses: { all: string[]; keyed: string[] };
  /** How callers authenticate, if not with a key. */
  security?: object[];
};

const byKey = [{ bearer: [] }, { apiKey: [] }];

export function testDescription(rules: Rules): void {
  const { file, document, describe, open, statuses, security = byKey } = rules;
  const name = basename(file.pathname);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

  test(`the committed ${name} is what the routes say (npm run openapi writes it)`, async () => {
    assert.equal(await describe(), await readFile(file, 'utf8'));
  });

  test('it passes the rules of redocly.yaml, without a warning', async () => {
    const { stdout, stderr } = await run(rootProgram('redocly'), ['lint', '--format=json', name], {
      cwd: root,
      env: redoclyEnv,
    });
    assert.deepEqual(JSON.parse(stdout).totals, { errors: 0, warnings: 0, ignored: 0 }, stderr);
  });

  test('every operation says who may call it, how it fails, and what an answer looks like', () => {
    for (const { path, method, operation } of operations) {
      const what = `${method} ${path}`;
      const keyless = open.includes(path);
      assert.deepEqual(operation.security, keyless ? [] : security, what);
      const expected = [...statuses.all, ...(keyless ? [] : statuses.keyed)];
      for (const status of expected) assert.ok(operation.responses[status], `${what} ${status}`);
      for (const [status, answer] of Object.entries(operation.responses)) {
        if (status === '304') continue;
        const { content } = resolve(document, answer);
        const [media] = Object.values(content ?? {});
        assert.ok(media?.example ?? media?.examples, `${what} ${status} has an example`);
      }
    }
  });

  test('every example and every default fits its schema', () => {
    const ajv = new Ajv2020({ strict: false });
    ajvFormats.default(ajv);
    ajv.addSchema(document, name);
    function fits(schema: object, value: unknown): void {
      // A reference inside the document, seen from a schema that stands alone.
      const alone = JSON.parse(JSON.stringify(schema).replaceAll('"#/', `"${name}#/`)) as object;
      assert.ok(ajv.validate(alone, value), `${ajv.errorsText()}: ${JSON.stringify(value)}`);
    }
    let examples = 0;
    visit(document, (node) => {
      if (node.type && 'default' in node) fits(node, node.default);
      if (!node.schema) return;
      for (const example of examplesOf(node)) {
        examples += 1;
        fits(node.schema, example);
      }
    });
    assert.ok(examples > operations.length);
  });

  test('every field, parameter and header is described', () => {
    for (const [title, schema] of Object.entries(document.components.schemas)) {
      assert.ok(schema['description'] ?? /(List|Response)$/.test(title), title);
      for (const [field, described] of Object.entries(
        (schema['properties'] ?? {}) as Record<string, { description?: string; anyOf?: unknown }>,
      )) {
        const refers = JSON.stringify(described).includes('"$ref"');
        assert.ok(described.description ?? refers, `${title}.${field}`);
      }
    }
    for (const { path, operation } of operations)
      for (const parameter of operation.parameters)
        assert.ok(parameter.description, `${path} ${parameter.name}`);
  });
}

type Answer = { content?: Record<string, { example?: unknown; examples?: unknown }> };

function resolve(document: OpenApiDocument, answer: object): Answer {
  if (!('$ref' in answer)) return answer;
  return document.components.responses[String(answer.$ref).split('/').at(-1) ?? ''] as Answer;
}

type Node = {
  type?: unknown;
  default?: unknown;
  schema?: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
};

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
