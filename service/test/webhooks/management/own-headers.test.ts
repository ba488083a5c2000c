/** Headers that owners add to their deliveries: what is sent, shown, stored and refused. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { pino } from 'pino';
import {
  headerCharsMax,
  headerNameMax,
  refusedHeaders,
} from '../../../src/contract/own-headers.ts';
import { sql } from '../../../src/database/database.ts';
import { joinWorkers, leaveWorkers } from '../../../src/webhooks/queue/workers.ts';
import { headersOwner } from '../../../src/webhooks/sending/own-headers.ts';
import { createSigningKeys } from '../../../src/webhooks/sending/signing-keys.ts';
import { put } from '../../support/directory.ts';
import { endedDelivery, eventually } from '../../support/eventually.ts';
import { signUp } from '../../support/portal.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const lines: string[] = [];
const service = await startTestService({
  worker: true,
  log: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }),
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
});
const { database } = service;
/** Stands in every value. */
const password = 'hunter2';
const headers = { Authorization: `Bearer ${password}`, 'X-Tenant': `of ${password}` };

const post = (path: string, json?: object, more: object = {}) =>
  service.call(`/webhooks${path}`, { method: 'POST', ...(json && { json }), ...more });
const patch = (id: string, json: object) =>
  service.call(`/webhooks/${id}`, { method: 'PATCH', json });
const remove = (id: string) => service.call(`/webhooks/${id}`, { method: 'DELETE' });

async function register(json: object) {
  const { status, body } = await post('', json);
  assert.equal(status, 201, JSON.stringify(body));
  return body.data as { id: string; url: string; headerNames: string[] };
}

/** The headers that a test of the webhook arrives with. */
async function sentTo(receiver: Awaited<ReturnType<typeof startReceiver>>, id: string) {
  await sql`update webhooks set url = ${receiver.url} where id = ${id}`.execute(database);
  assert.equal((await post(`/${id}/test`)).status, 200);
  return receiver.received.at(-1)?.headers ?? {};
}

test('every attempt has the headers: the first, retries, redeliveries and tests', async () => {
  const receiver = await startReceiver((response, _, count) =>
    response.writeHead(count === 1 ? 500 : 200).end(),
  );
  const { id } = await register({ url: receiver.url, headers });
  await put(database, 'orgs', [{ name: 'Acme' }], { emitEvents: true });
  await receiver.waitFor(2);
  const delivery = await endedDelivery(service, id);
  assert.equal((await post(`/${id}/deliveries/${delivery.id}/redeliver`)).status, 202);
  await receiver.waitFor(3);
  await post(`/${id}/test`);
  assert.deepEqual(
    receiver.received.map((one) => [one.headers['authorization'], one.headers['x-tenant']]),
    Array(4).fill(Object.values(headers)),
  );
  await remove(id);
});

test('a response that repeats the values is kept without them', async () => {
  const receiver = await startReceiver((response, { headers: { authorization = '' } }) =>
    response
      .writeHead(200, { 'x-echo': authorization })
      .end(JSON.stringify({ authorization, credentials: authorization.slice(7) })),
  );
  const secret = 'a "quoted" secret';
  const { id } = await register({
    url: receiver.url,
    headers: { Authorization: `Bearer ${secret}` },
  });
  const { body, text } = await post(`/${id}/test`);
  const [attempt] = body.data.attempts;
  assert.equal(attempt.responseHeaders['x-echo'], '***');
  assert.equal(attempt.responseBody, '{"authorization":"***","credentials":"***"}');
  assert.ok(!text.includes('secret'), text);
  await remove(id);
});

test('a value with quotes leaves the headers of a response readable', async () => {
  const receiver = await startReceiver((response) =>
    response.writeHead(200, { 'x-one': 'abcdef', 'x-two': 'is "":"abcdef"' }).end(),
  );
  const { id } = await register({ url: receiver.url, headers: { 'X-Tag': '":"abcdef' } });
  const { status, body } = await post(`/${id}/test`);
  assert.equal(status, 200);
  const [{ responseHeaders }] = body.data.attempts;
  assert.deepEqual([responseHeaders['x-one'], responseHeaders['x-two']], ['abcdef', 'is "***"']);
  await remove(id);
});

test('a value is in no response, log line, audit entry or text of the database', async () => {
  const json = { url: 'https://example.org/hooks', headers };
  const created = await post('', json, { headers: { 'idempotency-key': 'mine' } });
  const { id } = created.body.data;
  const texts = [created, await patch(id, { headers }), await service.call(`/webhooks/${id}`)];
  texts.push(await service.call('/webhooks'), await patch(id, { headers: { 'a b': password } }));
  texts.push(await patch(id, { headers: { [`Authorization: ${password}`]: password } }));
  texts.push(await patch(id, { headers: { Host: password, Via: ` ${password}` } }));
  for (const { text } of texts) assert.ok(!text.includes(password), text);
  assert.deepEqual(
    texts.slice(0, 3).map(({ body }) => body.data.headerNames),
    Array(3).fill(Object.keys(headers)),
  );
  const hex = Buffer.from(password).toString('hex');
  for (const table of ['webhooks', 'webhook_idempotency_keys', 'audit_log', 'events', 'outbox']) {
    const { rows } = await sql<{ text: string }>`
      select coalesce(string_agg(t::text, ''), '') as text from ${sql.table(table)} t
    `.execute(database);
    for (const form of [password, hex]) assert.ok(!rows[0]?.text.includes(form), table);
  }
  assert.ok(lines.length > 0);
  for (const line of lines) assert.ok(!line.includes(password), line);
  await remove(id);
});

test('the audit log says that the headers were set, also if only a value differs', async () => {
  const { id } = await register({ url: 'https://example.org/hooks', headers });
  await patch(id, { headers: { ...headers, 'X-Tenant': 'other' } });
  await patch(id, { headers: {} });
  await patch(id, { headers: null });
  const { rows } = await sql<{ changed: string[] }>`
    select details -> 'changed' as changed from audit_log
    where action = 'webhook.changed' and subject_id = ${id} order by id
  `.execute(database);
  assert.deepEqual(rows, [{ changed: ['headers'] }, { changed: ['headers'] }]);
  await remove(id);
});

test('a change replaces all headers, null and {} remove them, and without `headers` they stay', async () => {
  const receiver = await startReceiver();
  const { id } = await register({ url: receiver.url, headers });
  const steps: [object, string[]][] = [
    [{ description: 'Mine' }, Object.keys(headers)],
    [{ url: receiver.url.replace('http:', 'HTTP:') + '?other' }, Object.keys(headers)],
    [{ headers: { 'X-Other': 'yes' } }, ['X-Other']],
    [{ headers: {} }, []],
    [{ headers }, Object.keys(headers)],
    [{ headers: null }, []],
  ];
  for (const [json, names] of steps) {
    const { body } = await patch(id, json);
    assert.deepEqual(body.data.headerNames, names, JSON.stringify(json));
    const sent = await sentTo(receiver, id);
    for (const name of [...Object.keys(headers), 'X-Other'])
      assert.equal(name.toLowerCase() in sent, names.includes(name), name);
  }
  await remove(id);
});

test('another origin removes the headers, unless the same request sets some', async () => {
  const own = { url: 'https://example.org/hooks', headers };
  const same = ['https://EXAMPLE.org:443/a', 'https://example.org/hooks?b'];
  const other = ['https://example.org:8443/hooks', 'https://sub.example.org/hooks'];
  for (const url of [...same, ...other]) {
    const { id } = await register(own);
    const kept = same.includes(url) ? Object.keys(headers) : [];
    assert.deepEqual((await patch(id, { url })).body.data.headerNames, kept, url);
    const set = await patch(id, { url: 'https://example.net/', headers: { 'X-Key': 'new' } });
    assert.deepEqual(set.body.data.headerNames, ['X-Key']);
    const { rows } = await sql<{ sealed: Buffer }>`
      select own_headers as sealed from webhooks where id = ${id}
    `.execute(database);
    assert.deepEqual(JSON.parse(service.secretBox.open(rows[0]!.sealed, headersOwner(id))), {
      origin: 'https://example.net',
      headers: { 'X-Key': 'new' },
    });
    await remove(id);
  }
});

test('sealed headers do not open as a secret, nor a sealed secret as headers', async () => {
  const { id } = await register({ url: 'https://example.org/hooks', headers });
  const { rows } = await sql<{ secret: Buffer; sealed: Buffer }>`
    select secret, own_headers as sealed from webhooks where id = ${id}
  `.execute(database);
  const { secret, sealed } = rows[0] ?? assert.fail();
  const keys = createSigningKeys(service.secretBox);
  assert.deepEqual(keys.headers(id, sealed).headers, headers);
  assert.ok(keys.get(id, secret));
  const refused = { message: /unable to authenticate data/ };
  assert.throws(() => keys.headers(id, secret), refused);
  assert.throws(() => keys.get(id, sealed), refused);
  await remove(id);
});

test('refused names and values are named with the reason, and change nothing', async () => {
  const { id } = await register({ url: 'https://example.org/hooks', headers });
  const before = (await service.call('/webhooks')).text;
  const refused: [Record<string, unknown>, RegExp][] = [
    ...Object.entries(refusedHeaders).flatMap(([reason, names]) =>
      names.map((name): [Record<string, unknown>, RegExp] => {
        const one = name.endsWith('-') ? `${name}x` : name;
        return [{ [one.toUpperCase()]: 'a' }, new RegExp(`^${one} is not .*${reason}$`, 'i')];
      }),
    ),
    // Whatever the list in the code says.
    ...'Host Content-Length Content-Type User-Agent Expect X-Forwarded-For webhook-id webhook-signature X-Service-Event Connection Keep-Alive TE Proxy-Authorization Trailer Transfer-Encoding Upgrade HTTP2-Settings X_Forwarded_For Webhook_Signature Content_Length'
      .split(' ')
      .map((name): [Record<string, unknown>, RegExp] => [{ [name]: 'a' }, /is not allowed/]),
    [{ 'a\nb': null }, /must be string/],
    [{ 'x-SERVICE-signature': 'a' }, /x-SERVICE-signature is not allowed/],
    [{ 'X-Key': 'a', 'x-key': 'b' }, /x-key is given twice/],
    [{ '': 'a' }, /name 1 has not/],
    [{ ok: 'a', 'no:': 'a' }, /name 2 has not/],
    [{ ä: 'a' }, /name 1 has not/],
    [{ 'a\r\nHost': 'a' }, /name 1 has not/],
    [{ ['x'.repeat(headerNameMax + 1)]: 'a' }, /name 1 has not/],
    ...['', ' a', 'a ', 'a\r\nHost: x', 'a\tb', 'ä', '\u007f'].map(
      (value): [Record<string, unknown>, RegExp] => [{ 'X-Key': value }, /the value of X-Key must/],
    ),
    [{ 'X-Key': 'x'.repeat(2_001) }, /at most 2000 characters/],
    [{ a: 'x'.repeat(2_000), b: 'x'.repeat(2_000), c: 'x'.repeat(94) }, /4096 .*, not 4097$/],
    [Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`x-${n}`, 'a'])), /10/],
    [{ 'X-Key': 1 }, /must be string/],
  ];
  for (const [wrong, reason] of refused)
    for (const { status, body } of [
      await patch(id, { description: 'Other', headers: wrong }),
      await post('', { url: 'https://example.org/', headers: wrong }),
    ]) {
      assert.equal(status, 400, JSON.stringify(wrong));
      assert.match(body.error.details.issues[0].message, reason);
    }
  assert.equal((await service.call('/webhooks')).text, before);
  await remove(id);
});

test('the longest headers and unusual names are sent as they are', async () => {
  const receiver = await startReceiver();
  const most: Record<string, string> = {
    ['n'.repeat(headerNameMax)]: 'x'.repeat(2_000),
    "!#$%&'*+-.^_`|~": '~ "quoted", {a}',
    constructor: 'a',
    Cookie: 'a=b; c=d',
    AUTHORIZATION: 'Basic YTpi',
  };
  const used = Object.entries(most).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
  most['X-Rest'] = 'r'.repeat(headerCharsMax - used - 'X-Rest'.length - 200);
  most['X-More'] = 'm'.repeat(200 - 'X-More'.length);
  const { id } = await register({ url: receiver.url, headers: most });
  const sent = await sentTo(receiver, id);
  for (const [name, value] of Object.entries(most)) assert.equal(sent[name.toLowerCase()], value);
  await remove(id);
});

test('a repeated creation compares the headers, and stores no hash by which one could guess them', async () => {
  const json = { url: 'https://example.org/hooks', headers };
  const again = (body: object) => post('', body, { headers: { 'idempotency-key': 'again' } });
  const first = await again(json);
  await patch(first.body.data.id, { headers: null });
  const repeated = await again(json);
  assert.deepEqual([repeated.status, repeated.text], [201, first.text]);
  for (const other of [{ ...headers, 'X-Tenant': 'other' }, {}, null])
    assert.equal((await again({ ...json, headers: other })).status, 409);
  const another = await post('', json, { headers: { 'idempotency-key': 'another' } });
  const { rows } = await sql<{ contents: number }>`
    select count(distinct content)::int as contents from webhook_idempotency_keys
    where webhook_id in (${first.body.data.id}, ${another.body.data.id})
  `.execute(database);
  assert.deepEqual(rows, [{ contents: 2 }], 'the same body has another hash');
  for (const { body } of [first, another]) await remove(body.data.id);
});

test('no headers are set while a process of an earlier version delivers', async () => {
  const { id, url } = await register({ url: 'https://example.org/hooks' });
  const old = randomUUID();
  await joinWorkers(database, old);
  await sql`update workers set migration = null where id = ${old}`.execute(database);
  const refused = [await patch(id, { headers }), await post('', { url, headers })];
  for (const { status, body } of refused) {
    assert.deepEqual([status, body.error.code], [409, 'conflict']);
    assert.match(body.error.message, /being upgraded/);
  }
  assert.equal((await patch(id, { headers: null, description: 'Mine' })).status, 200);
  await leaveWorkers(database, old);
  await eventually(async () => (await patch(id, { headers })).status === 200);
  await remove(id);
});

test('in the portal, setting and removing headers needs a recent sign-in, and viewers see the names', async () => {
  const ada = await signUp(service, 'ada@example.org');
  const { id: appId } = (await ada.call('/apps', { method: 'POST', json: { name: 'Herald' } })).body
    .data;
  const path = `/apps/${appId}/webhooks`;
  const json = { url: 'https://example.org/hooks', headers };
  const created = await ada.call(path, { method: 'POST', json });
  assert.equal(created.status, 201, created.text);
  const { id } = created.body.data;
  await sql`
    insert into app_members (app_id, email, role) values (${appId}, 'bob@example.org', 'viewer')
  `.execute(database);
  const bob = await signUp(service, 'bob@example.org');
  const { text, body } = await bob.call(`${path}/${id}`);
  assert.deepEqual(body.data.headerNames, Object.keys(headers));
  assert.ok(!text.includes(password));
  await sql`update sessions set proven_at = now() - interval '31 minutes'`.execute(database);
  const change = (changes: object) => ada.call(`${path}/${id}`, { method: 'PATCH', json: changes });
  for (const changes of [{ headers }, { headers: null }]) {
    const answer = await change(changes);
    assert.deepEqual([answer.status, answer.body.error?.code], [403, 'proof_required']);
  }
  assert.equal((await change({ description: 'Mine' })).status, 200);
});
