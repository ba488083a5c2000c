/** Tests the published package as its users install it. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { put } from '../../service/test/support/directory.ts';
import { openApi } from '../../service/test/support/openapi-check.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { makeConsumer } from './support/consumer.ts';
import { findMachineNode } from './support/machine-node.ts';

const consumer = await makeConsumer();
const dist = consumer.packageFolder;

test('the package has no dependencies and has every file of its manifest', async () => {
  const manifest = JSON.parse(await readFile(join(dist, 'package.json'), 'utf8'));
  assert.equal(manifest.name, '@orgdir/client');
  for (const field of ['dependencies', 'devDependencies', 'scripts', 'private'])
    assert.equal(manifest[field], undefined, field);
  const named = JSON.stringify([manifest.exports, manifest.main, manifest.types]);
  const entries = Array.from(named.matchAll(/"\.\/(.*?)"/g), ([, file = '']) => file);
  assert.deepEqual([...new Set(entries)].sort(), [
    'index.cjs',
    'index.d.cts',
    'index.d.ts',
    'index.js',
  ]);
  assert.deepEqual(manifest.bin, { 'orgdir-client': './command.js' });
  await readFile(join(dist, manifest.bin['orgdir-client']));
  const files = await readdir(dist);
  assert.deepEqual(files.filter((file) => !/^[a-z-]+\.js$/.test(file)).sort(), [
    'LICENSE',
    'README.md',
    'command',
    'index.cjs',
    'index.d.cts',
    'index.d.ts',
    'package.json',
  ]);
});

test('links in its README work without the rest of this repository', async () => {
  const text = await readFile(join(dist, 'README.md'), 'utf8');
  const links = [...text.matchAll(/\]\(([^)]*)\)/g)].map(([, link]) => link);
  assert.ok(links.length > 0);
  for (const link of links) assert.match(link ?? '', /^(https:|#)/);
});

test('the package imports only its own files, and only its command modules of Node.js', async () => {
  for (const file of await readdir(dist, { recursive: true })) {
    if (!/\.c?[jt]s$/.test(file)) continue;
    const isCommand = file.startsWith('command');
    const own = isCommand
      ? /^(\.{1,2}\/(command\/)?[a-z-]+\.js|node:[a-z_/]+)$/
      : /^\.\/[a-z-]+\.js$/;
    const text = await readFile(join(dist, file), 'utf8');
    for (const [, from = ''] of text.matchAll(/\bfrom '(.*)'/g)) assert.match(from, own, file);
    // The bundles need no other file.
    if (file !== 'index.js' && !isCommand) assert.doesNotMatch(text, /\brequire\(/, file);
  }
});

test('in this repository the package is used without a build', () => {
  assert.match(import.meta.resolve('@orgdir/client'), /\/client\/src\/index\.ts$/);
});

const program = `
import { createClient, verifyWebhook, ApiError } from '@orgdir/client';
const client = createClient({ baseUrl: process.env.BASE_URL, apiKey: process.env.API_KEY });
for await (const org of client.orgs.all()) console.log(org.name);
await client.orgs.get('nobody').catch((error) => console.log(error instanceof ApiError, error.code));
const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
await verifyWebhook({
  body: 'Hello, World!', secret: "It's a Secret to Everybody", scheme: 'service',
  headers: { 'x-service-signature': signature },
}).catch((error) => console.log(error.reason));
`;

const inCommonJs = `
const client = require('@orgdir/client');
import('@orgdir/client').then(async ({ ApiError }) => {
  const { createClient } = client;
  const { orgs } = createClient({ baseUrl: process.env.BASE_URL, apiKey: process.env.API_KEY });
  const error = await orgs.get('nobody').catch((error) => error);
  console.log(error.code, error instanceof client.ApiError, error instanceof ApiError);
});
`;

test('the package runs on the current Node.js', () => runsOn(process.execPath));

const machineNode = findMachineNode();
test(
  'the package runs on the Node.js of this machine',
  { skip: machineNode ? false : 'none, or the same version' },
  () => runsOn(machineNode ?? ''),
);

test('CommonJS gets the same module as `import`', () => requiredOn(process.execPath, true));
test(
  'CommonJS does so on the Node.js of this machine, too',
  { skip: machineNode ? false : 'none, or the same version' },
  () => requiredOn(machineNode ?? '', true),
);
test('a Node.js that cannot require ES modules gets a module of CommonJS', () =>
  requiredOn(process.execPath, false, { NODE_OPTIONS: '--no-experimental-require-module' }));

test('CommonJS in TypeScript finds the types, in each kind of module', async () => {
  const text = `import { ApiError, createClient, type WebhookEvent } from '@orgdir/client';
export const client = createClient({ baseUrl: '' });
export const code = (error: unknown) => (error instanceof ApiError ? error.code : null);
export const names = async () => (await client.orgs.list()).data.map(({ name }) => name);
// @ts-expect-error
export const wrong: WebhookEvent = 5;
`;
  await consumer.write('required.cts', text);
  await consumer.write('imported.mts', text);
  const files = ['required.cts', 'imported.mts'];
  for (const module of ['node16', 'nodenext'])
    assert.equal(await consumer.check({ types: ['node'], files, module }), '', module);
});

test('the types fit every example of openapi.json, also in a browser', async () => {
  const lines = ["import type { DirectoryEvent, WebhookEvent } from '@orgdir/client';"];
  lines.push("import type * as wire from '@orgdir/client';");
  const examples = [...answers(), ...requests(), ...deliveries()];
  assert.ok(examples.length > 30);
  for (const [index, { type, example }] of examples.entries())
    lines.push(`export const _${index}: ${type} = ${JSON.stringify(example)};`);
  await consumer.write('examples.ts', lines.join('\n'));
  assert.equal(await consumer.check({ types: [], files: ['examples.ts'] }), '');
});

test('the types reject invalid requests', async () => {
  const wrong = [
    'client.orgs.list({ sort: "size" })',
    'client.orgs.list({ colour: "red" })',
    'client.orgs.all({ page: 2 })',
    'client.webhooks.create({})',
    'client.events.list({ event: "org.exploded" })',
    'verifyWebhook({ body: "", headers: {} })',
    'verifyWebhook({ request: new Request("x"), body: "", secret: "s" })',
  ];
  const head = `import { createClient, verifyWebhook } from '@orgdir/client';
const client = createClient({ baseUrl: '' });\n`;
  // Each is marked as an error, so tsc reports those that are not.
  const marked = wrong.map((line) => `// @ts-expect-error\nvoid ${line};`).join('\n');
  await consumer.write('wrong.ts', head + marked);
  assert.equal(await consumer.check({ types: [], files: ['wrong.ts'] }), '');
});

async function runsOn(node: string): Promise<void> {
  const service = await startTestService();
  await put(service.database, 'orgs', [{ name: 'Acme' }]);
  await service.settled();
  await consumer.write('program.mjs', program);
  const env = { BASE_URL: service.url, API_KEY: service.key };
  const running = consumer.start('program.mjs', { node, env });
  assert.equal(await running.ended, 0, running.output());
  assert.equal(running.output(), 'Acme\ntrue not_found\nmalformed_body\n');
}

async function requiredOn(node: string, isSame: boolean, env = {}): Promise<void> {
  const service = await startTestService();
  await consumer.write('program.cjs', inCommonJs);
  const address = { BASE_URL: service.url, API_KEY: service.key };
  const running = consumer.start('program.cjs', { node, env: { ...env, ...address } });
  assert.equal(await running.ended, 0, running.output());
  assert.equal(running.output(), `not_found true ${isSame}\n`);
}

type Example = { type: string; example: unknown };
type Described = { $ref?: string; items?: { $ref: string } };

/** The content of each operation's response, without the envelope. */
function* answers(): Generator<Example> {
  for (const methods of Object.values(openApi.paths))
    for (const { responses } of Object.values(methods))
      for (const [status, answer] of Object.entries(responses)) {
        const media = ('content' in answer && answer.content?.['application/json']) || null;
        if (!status.startsWith('2') || !media) continue;
        const { schema, example } = media as { schema: { $ref?: string }; example?: unknown };
        const envelope = openApi.components.schemas[nameOf(schema.$ref)];
        const { data } = (envelope?.['properties'] ?? {}) as { data?: Described };
        const held = (example as { data?: unknown } | undefined)?.data;
        if (!data || held === undefined) continue;
        const type = typeOf(nameOf(data.$ref ?? data.items?.$ref));
        yield { type: data.items ? `${type}[]` : type, example: held };
      }
}

function* requests(): Generator<Example> {
  for (const methods of Object.values(openApi.paths))
    for (const { requestBody } of Object.values(methods)) {
      const media = requestBody?.content['application/json'];
      if (!media) continue;
      const { schema, example } = media;
      yield { type: typeOf(nameOf(schema.$ref)), example };
    }
}

function* deliveries(): Generator<Example> {
  for (const { post } of Object.values(openApi.webhooks))
    yield { type: 'WebhookEvent', example: post.requestBody.content['application/json']?.example };
}

function nameOf(reference = ''): string {
  return reference.slice('#/components/schemas/'.length);
}

function typeOf(name: string): string {
  return name === 'EventRecord' ? 'DirectoryEvent' : `wire.${name}`;
}
