/** Every operation of the console, tried as each kind of caller; and an operator's session on every operation of the other APIs. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createApp } from '../../src/access/apps.ts';
import { setMember } from '../../src/access/members.ts';
import { changeSuspension } from '../../src/http/operator/suspensions.ts';
import { removeOperator } from '../../src/sign-in/operators.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { blueprint, put } from '../support/directory.ts';
import {
  internalOpenApi,
  openApi,
  portalOpenApi,
  type OpenApiDocument,
  type Operation,
} from '../support/openapi-check.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { makeOperator, withSecondFactor } from '../support/operator.ts';
import { callPortal, type Person } from '../support/portal.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { makeKey, startTestService, type Answer } from '../support/service.ts';
import { assertUnread, secretHeaders, secretPath } from '../support/unreadable.ts';

/** Repeats what it gets. */
const receiver = await startReceiver((response, { path, headers }) =>
  response.end(`${path} ${JSON.stringify(headers)}`),
);
const { origin } = new URL(receiver.url);
const service = await startTestService({
  env: loopbackAllowed,
  chatOrigins: { discord: [], slack: [origin], teams: [] },
});
const internal = await startInternalApi(service);
const { database } = service;

type Call = { operationId: string; method: string; path: string; json?: object };

const missing = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';

/** The calls of a document, each with valid inputs: `names` are the values of parameters in paths. */
function callsOf(document: OpenApiDocument, names: Record<string, string>): Call[] {
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const json = bodyOf(document, operation);
      const call = {
        operationId: operation.operationId,
        method: method.toUpperCase(),
        // Of the portal's own operations, as its pages call them.
        path: fill(template, names).replace(/^\/portal\/api/, ''),
      };
      return json ? Object.assign(call, { json }) : call;
    }),
  );
}

function fill(template: string, names: Record<string, string>): string {
  const [kind] = /(?:orgs|alliances|blueprints|syncs|webhooks)(?=\/\{)/.exec(template) ?? [''];
  return template.replaceAll(
    /\{(\w+)\}/g,
    (_, name) => names[`${kind}.${name}`] ?? names[name] ?? missing,
  );
}

function bodyOf(document: OpenApiDocument, { requestBody }: Operation): object | null {
  const content = requestBody?.content['application/json'];
  if (!content) return null;
  const name = content.schema.$ref?.split('/').at(-1) ?? '';
  const [example] = (document.components.schemas[name]?.['examples'] ?? []) as object[];
  return example ?? content.example ?? {};
}

const people = new Map<string, Person>();
let calls: Call[] = [];
let appKey = '';
/** One with own headers, and one of a chat channel. */
let webhookIds: string[] = [];

before(async () => {
  await put(database, 'alliances', [{ slug: 'acme', name: 'Acme League' }]);
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await put(database, 'blueprints', [blueprint({ key: 'acme' })]);
  const runId = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e80';
  await sql`
    insert into sync_runs (id, kind, source, status, finished_at, counts) values (${runId}, 'chat', 'discord', 'succeeded', now(), '{}')
  `.execute(database);
  for (const name of ['former', 'suspended', 'operator'])
    people.set(name, await makeOperator(service, `${name}@example.org`));
  people.set('read-only', await makeOperator(service, 'reads@example.org', 'read-only'));
  for (const name of ['owner', 'viewer', 'stranger'])
    people.set(name, await withSecondFactor(service, `${name}@example.org`));
  const appId = await database.transaction().execute(async (tx) => {
    const id = await createApp(tx, testActor, { name: 'Owned', owner: 'owner@example.org' });
    await setMember(tx, testActor, { appId: id, email: 'viewer@example.org', role: 'viewer' });
    await removeOperator(tx, testActor, 'former@example.org');
    const request = {
      kind: 'account',
      id: 'suspended@example.org',
      reason: 'Left the team.',
    } as const;
    await changeSuspension(tx, testActor, request, {
      serviceName: 'Service',
      publicUrl: service.url,
    });
    return id;
  });
  ({ key: appKey } = await makeKey(service));
  for (const json of [
    { url: receiver.url, headers: secretHeaders },
    { url: `${origin}${secretPath}`, format: 'slack' },
  ]) {
    const { status, body } = await service.call('/webhooks', { method: 'POST', key: appKey, json });
    assert.equal(status, 201, JSON.stringify(body));
    webhookIds.push(body.data.id);
  }
  const names = {
    kind: 'apps',
    id: appId,
    slug: 'acme',
    key: 'acme',
    'syncs.id': runId,
    'webhooks.id': webhookIds[0] ?? '',
  };
  calls = callsOf(portalOpenApi, names).filter(({ path }) => path.startsWith('/operator/'));
});

async function make(person: Person | undefined, { method, path, json }: Call): Promise<Answer> {
  const options = { method, ...(json && { json }) };
  const answer = await (person ? person.call(path, options) : callPortal(service, path, options));
  assertUnread(answer, path);
  return answer;
}

/** The answers to all calls as `status code`, and which calls got each. */
async function answers(person: Person | undefined, which: Call[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const call of which) {
    const { status, body } = await make(person, call);
    const answer = status < 400 ? String(status) : `${status} ${body.error.code}`;
    found.set(answer, [...(found.get(answer) ?? []), call.operationId]);
  }
  return found;
}

const isRead = ({ method }: Call) => method === 'GET';

/** Of those who may see nothing. */
const refusals = {
  former: '404 not_found',
  suspended: '403 suspended',
  owner: '404 not_found',
  viewer: '404 not_found',
  stranger: '404 not_found',
  nobody: '404 not_found',
};

/** Each of these people gets one answer to all calls. */
async function assertAnswers(expected: Record<string, string>, which: Call[]): Promise<void> {
  for (const [name, answer] of Object.entries(expected))
    assert.deepEqual(
      await answers(people.get(name), which),
      new Map([[answer, which.map(({ operationId }) => operationId)]]),
      name,
    );
}

test('every read of the console answers operators of both roles, and nobody else', async () => {
  const reads = calls.filter(isRead);
  assert.ok(reads.length >= 20);
  await assertAnswers({ ...refusals, operator: '200', 'read-only': '200' }, reads);
});

test('every write of the console needs the full role and a recent proof, and changes nothing without', async () => {
  const writes = calls.filter((call) => !isRead(call));
  assert.ok(writes.length >= 18);
  const count = async () => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from audit_log`.execute(
      database,
    );
    return rows[0]?.count;
  };
  const entries = await count();
  await assertAnswers({ ...refusals, 'read-only': '403 forbidden' }, writes);
  await sql`
    update sessions set proven_at = now() - interval '31 minutes', created_at = now() - interval '31 minutes'
  `.execute(database);
  await assertAnswers({ operator: '403 proof_required' }, writes);
  assert.equal(await count(), entries);
  const { rows } = await sql`
    select from orgs where slug = 'acme' and name = 'Acme' union all select from alliances where name = 'Acme League'
  `.execute(database);
  assert.equal(rows.length, 2);
});

test('the session of an operator is worth nothing with keys, on the internal listener, and for apps of others', async () => {
  const operator = people.get('operator');
  const headers = operator?.credentials ?? {};
  const reach = async (url: string, call: Call) =>
    (await fetch(url + call.path, { method: call.method, headers, redirect: 'manual' })).status;
  for (const path of ['/profile/operator', '/portal/api/operator/overview'])
    assert.equal(await reach(internal.url, { operationId: '', method: 'GET', path }), 404, path);
  const publicNames = { slug: 'acme', key: 'acme' };
  for (const [url, document] of [
    [service.url, openApi],
    [internal.url, internalOpenApi],
  ] as const) {
    const keyed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).some(({ security }) => security.length > 0) ? [path] : [],
    );
    const documentCalls = callsOf(document, publicNames).filter(
      ({ operationId }) => !openOperations(document).has(operationId),
    );
    assert.ok(keyed.length > 5);
    for (const call of documentCalls)
      assert.equal(await reach(url, call), 401, `${url} ${call.method} ${call.path}`);
  }
  const { rows } = await sql<{ id: string }>`select id from apps where name = 'Owned'`.execute(
    database,
  );
  const appCalls = callsOf(portalOpenApi, { appId: rows[0]?.id ?? '' }).filter(({ path }) =>
    path.startsWith('/apps/'),
  );
  assert.ok(appCalls.length > 20);
  for (const call of appCalls) {
    const { status } = await make(operator, call);
    // A write may be refused before anybody looks whose app it is.
    assert.ok([404, 403, 400].includes(status), `${call.method} ${call.path}: ${status}`);
    if (isRead(call)) assert.notEqual(status, 200, call.path);
  }
});

test('nobody reads an own header or the URL of a chat channel in the public, the internal API or the console', async () => {
  const answered = new Set<string>();
  for (const id of webhookIds) {
    const tested = await service.call(`/webhooks/${id}/test`, { method: 'POST', key: appKey });
    assert.equal(tested.body.data?.status, 'succeeded', tested.text);
    assertUnread(tested, 'testWebhook');
    const names = { slug: 'acme', key: 'acme', id, deliveryId: tested.body.data.id as string };
    const ofConsole = callsOf(portalOpenApi, { ...names, kind: 'webhooks' }).filter(
      (call) => isRead(call) && call.path.startsWith('/operator/'),
    );
    for (const call of ofConsole) await make(people.get('operator'), call);
    // Neither writes webhooks nor shows them.
    const ofInternal = callsOf(internalOpenApi, names).filter(isRead);
    const ofPublic = callsOf(openApi, names).filter(
      ({ operationId, path }) =>
        // The last two do not end, or are no JSON.
        operationId !== 'deleteWebhook' && !/\/stream$|\.ndjson$/.test(path),
    );
    for (const [caller, key, some] of [
      [internal, internal.key, ofInternal],
      [service, appKey, ofPublic],
    ] as const)
      for (const { operationId, method, path, json } of some) {
        const short = path.replace(/^\/(api|internal)\/v1/, '');
        const answer = await caller.call(short, { method, key, ...(json && { json }) });
        assertUnread(answer, `${method} ${path}`);
        if (answer.status < 300) answered.add(operationId);
      }
  }
  for (const operation of ['listOrgs', 'listWebhooks', 'getWebhook', 'getDelivery', 'testWebhook'])
    assert.ok(answered.has(operation), `${operation} of ${[...answered].join(', ')}`);
});

/** Those that need no key. */
function openOperations(document: OpenApiDocument): Set<string> {
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  return new Set(
    all.filter(({ security }) => security.length === 0).map(({ operationId }) => operationId),
  );
}
