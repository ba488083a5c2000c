/**
 * Clients that integrators generate from openapi.json: they compile and make every call on webhooks. These are the
 * generators that npm installs; docs/reference/clients.md has the others.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { announce, put } from '../../service/test/support/directory.ts';
import { openApiFile, rootProgram } from '../../service/test/support/openapi-file.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';

const run = promisify(execFile);
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const service = await startTestService({ worker: true, env: loopbackAllowed });
const receiver = await startReceiver();
await put(service.database, 'alliances', [{ slug: 'league', name: 'League' }]);
await put(service.database, 'orgs', [
  { slug: 'acme', name: 'Acme', alliance: 'league' },
  { slug: 'lone', name: 'Lone' },
]);
await service.settled();

test('@hey-api/openapi-ts', () =>
  checkClient({
    generate: ['openapi-ts', '-i', fileURLToPath(openApiFile), '-o', 'api', '--no-log-file'],
    imports: `
import { createClient } from './api/client/index.js';
import * as api from './api/index.js';`,
    calls: `
  const client = createClient({ baseUrl, auth: key });
  const orgs = await dataOf(api.listOrgs({ client, query: { sort: 'name' } }));
  const created = await dataOf(api.createWebhook({ client, body: webhook }));
  const path = { id: created.id };
  const listed = await dataOf(api.listWebhooks({ client }));
  const updated = await dataOf(api.updateWebhook({ client, path, body: changes }));
  const tested = await dataOf(api.testWebhook({ client, path }));
  const testedEvent = await dataOf(api.testWebhook({ client, path, body: { event } }));
  await announce();
  let deliveries;
  do deliveries = await dataOf(api.listDeliveries({ client, path, query: { event, since, status } }));
  while (!deliveries[0]);
  const deliveryPath = { ...path, deliveryId: deliveries[0].id };
  const delivery = await dataOf(api.getDelivery({ client, path: deliveryPath }));
  const redelivered = await dataOf(api.redeliver({ client, path: deliveryPath }));
  const recovered = await dataOf(api.recoverDeliveries({ client, path, body: { since } }));
  const rotated = await dataOf(api.rotateWebhookSecret({ client, path }));
  const rotatedAtOnce = await dataOf(api.rotateWebhookSecret({ client, path, body: atOnce }));
  const read = await dataOf(api.getWebhook({ client, path }));
  const deleted = await dataOf(api.deleteWebhook({ client, path }));
  const { error } = await api.getWebhook({ client, path });`,
  }));

test('openapi-typescript with openapi-fetch', () =>
  checkClient({
    generate: ['openapi-typescript', fileURLToPath(openApiFile), '-o', 'api.d.ts'],
    imports: `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';`,
    calls: `
  const headers = { authorization: 'Bearer ' + key };
  const client = createClient<paths>({ baseUrl, headers });
  const webhooks = '/api/v1/webhooks';
  const one = '/api/v1/webhooks/{id}';
  const orgs = await dataOf(client.GET('/api/v1/orgs', { params: { query: { sort: 'name' } } }));
  const created = await dataOf(client.POST(webhooks, { body: webhook }));
  const path = { id: created.id };
  const params = { path };
  const listed = await dataOf(client.GET(webhooks));
  const updated = await dataOf(client.PATCH(one, { params, body: changes }));
  const tested = await dataOf(client.POST(\`\${one}/test\`, { params }));
  const testedEvent = await dataOf(client.POST(\`\${one}/test\`, { params, body: { event } }));
  await announce();
  let deliveries;
  const query = { event, since, status } as const;
  do deliveries = await dataOf(client.GET(\`\${one}/deliveries\`, { params: { path, query } }));
  while (!deliveries[0]);
  const deliveryParams = { path: { ...path, deliveryId: deliveries[0].id } };
  const oneDelivery = \`\${one}/deliveries/{deliveryId}\` as const;
  const delivery = await dataOf(client.GET(oneDelivery, { params: deliveryParams }));
  const redelivered = await dataOf(client.POST(\`\${oneDelivery}/redeliver\`, { params: deliveryParams }));
  const recovered = await dataOf(client.POST(\`\${one}/recover\`, { params, body: { since } }));
  const rotated = await dataOf(client.POST(\`\${one}/rotate-secret\`, { params }));
  const rotatedAtOnce = await dataOf(client.POST(\`\${one}/rotate-secret\`, { params, body: atOnce }));
  const read = await dataOf(client.GET(one, { params }));
  const deleted = await dataOf(client.DELETE(one, { params }));
  const { error } = await client.GET(one, { params });`,
  }));

type Client = {
  /** The command that writes `api`, and its arguments. */
  generate: [string, ...string[]];
  imports: string;
  /** Statements that assign what `program` returns. */
  calls: string;
};

async function checkClient({ generate, imports, calls }: Client): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-generated-'));
  after(() => rm(folder, { recursive: true }));
  await symlink(file('../../node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  await writeFile(join(folder, 'program.ts'), program(imports, calls));
  const [command, ...args] = generate;
  const generator = file(`../node_modules/.bin/${command}`);
  await run(process.execPath, [generator, ...args], { cwd: folder });
  const { stdout } = await run(process.execPath, [rootProgram('tsc')], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  assert.equal(stdout, '');

  const { callAll } = (await import(pathToFileURL(join(folder, 'program.js')).href)) as {
    callAll: (input: object) => Promise<unknown>;
  };
  const seen = await callAll({
    baseUrl: service.url,
    key: service.key,
    receiverUrl: receiver.url,
    announce: () => announce(service.database),
  });
  assert.deepEqual(seen, {
    orgs: [
      ['Acme', 'League'],
      ['Lone', null],
    ],
    created: [['org.created'], null, 'whsec_'],
    listed: [true],
    updated: [null, 'Announces'],
    tested: [200, 200],
    delivery: ['succeeded', 200, 'org.created'],
    redelivered: true,
    recovered: 0,
    rotated: [true, false],
    read: true,
    deleted: true,
    error: 'not_found',
  });
}

const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
};

const program = (imports: string, calls: string) => `${imports}

type Input = { baseUrl: string; key: string; receiverUrl: string; announce: () => Promise<unknown> };

export async function callAll({ baseUrl, key, receiverUrl, announce }: Input) {
  const webhook = { url: receiverUrl, events: ['org.created'], description: null };
  const changes = { events: null, description: 'Announces' };
  const atOnce = { overlapSeconds: 0 };
  const event = 'org.created';
  const status = 'succeeded';
  const since = new Date(Date.now() - 60_000).toISOString();
${calls}
  return {
    orgs: orgs.map(({ name, alliance }) => [name, alliance?.name ?? null]),
    created: [created.events, created.description, created.secret.slice(0, 6)],
    listed: listed.map(({ id }) => id === created.id),
    updated: [updated.events, updated.description],
    tested: [tested, testedEvent].map(({ attempts }) => attempts[0]?.statusCode),
    delivery: [delivery.status, delivery.attempts[0]?.statusCode, JSON.parse(delivery.body ?? '').event],
    redelivered: redelivered.id === delivery.id,
    recovered: recovered.count,
    rotated: [rotated, rotatedAtOnce].map(({ previousSecretExpiresAt }) => previousSecretExpiresAt !== null),
    read: read.id === created.id,
    deleted: deleted.deleted,
    error: (error as { error: { code: string } }).error.code,
  };
}

async function dataOf<T>(call: Promise<{ data?: { data: T }; error?: unknown }>): Promise<T> {
  const { data, error } = await call;
  if (!data) throw new Error(JSON.stringify(error));
  return data.data;
}
`;
