/** `orgdir-client listen`: the stream of events, signed and sent to a handler on this machine. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, readFile, stat } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { verifyWebhook } from '@orgdir/client';
import { revokeKey } from '../../../service/src/access/keys.ts';
import { sql } from '../../../service/src/database/database.ts';
import { testActor } from '../../../service/test/support/actor.ts';
import { announce, put } from '../../../service/test/support/directory.ts';
import { eventually } from '../../../service/test/support/eventually.ts';
import { startProxy } from '../../../service/test/support/proxy.ts';
import { startReceiver } from '../../../service/test/support/receiver.ts';
import { makeKey, startTestService } from '../../../service/test/support/service.ts';
import { lines, startClient, temporaryFolder } from '../support/client-command.ts';

const service = await startTestService({ worker: true });
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const port = Number(new URL(service.url).port);
const env = { ORGDIR_API_KEY: service.key, ORGDIR_URL: service.url };
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

type Options = { env?: Record<string, string>; input?: string | null };
function listen(args: string[], options: Options = {}) {
  return startClient(['listen', '--json', ...args], {
    ...options,
    env: { ...env, WEBHOOK_SECRET: secret, ...options.env },
  });
}

const publish = () => announce(service.database);

/** Events that are distributed, so that a replay finds them. */
async function published(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const id = await publish();
    ids.push(id);
    await eventually(async () => (await allIds()).includes(id));
  }
  return ids;
}

async function allIds(): Promise<string[]> {
  const { body } = await service.call('/events?limit=100');
  return body.data.map(({ id }: { id: string }) => id);
}

test('it forwards each event with the body and headers of a delivery, and shows the response', async () => {
  const handler = await startReceiver((response) =>
    response.writeHead(201).end('stored\u001b[2J\nsecond line'),
  );
  const command = listen(['--forward-to', `${handler.url}?a=b`]);
  const [start] = await lines(command, 'listening');
  assert.deepEqual(start, { type: 'listening', url: `${handler.url}?a=b`, webhookId: null });
  const id = await publish();
  const [{ method, path, headers, body }] = (await handler.waitFor(1)) as any;
  assert.deepEqual([method, path], ['POST', '/hook?a=b']);
  for (const scheme of ['standard', 'service'] as const) {
    const event = await verifyWebhook({ body, headers, secret, scheme });
    assert.deepEqual([event.id, event.event], [id, 'org.created']);
  }
  assert.equal(headers['x-service-event'], 'org.created');
  assert.equal(headers['x-service-delivery'], id);
  assert.match(headers['user-agent'], /^Service-Webhooks\/\d/);
  const [response] = await lines(command, 'response');
  assert.deepEqual(
    [response.id, response.event, response.status, response.body],
    [id, 'org.created', 201, 'stored\u001b[2J\nsecond line'],
  );
  assert.doesNotMatch(command.stdout.replaceAll('\n', ''), /\p{Cc}/u);
  command.signal('SIGINT');
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
  assert.equal(command.stderr, '');
});

test('the body is exactly what the service would send, in a replay and in the stream', async () => {
  const data = '{"number":12345678901234567890123,"small":1.10,"text":"\\u001b[2J]}\\""}';
  const [id = ''] = await published(1);
  await sql`update events set data = ${data} where id = ${id}`.execute(service.database);
  const handler = await startReceiver();
  const command = listen(['--forward-to', handler.url, '--replay', '1']);
  const [{ body: replayed }] = (await handler.waitFor(1)) as any;
  const { createdAt } = JSON.parse(replayed);
  const expected = `{"id":"${id}","event":"org.created","createdAt":"${createdAt}","data":${data}}`;
  assert.equal(replayed.toString(), expected);
  const [event] = await lines(command, 'event');
  assert.equal(event.body, expected);
  await publish();
  const [, { body: streamed }] = (await handler.waitFor(2)) as any;
  const { text } = await service.call('/events?limit=100');
  assert.ok(text.includes(streamed.toString()));
});

test('without a handler it verifies and prints each event itself, with the status asked for', async () => {
  const command = listen(['--status', '500']);
  const [start] = await lines(command, 'listening');
  assert.match(start.url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  const id = await publish();
  const [delivery] = await lines(command, 'delivery');
  assert.deepEqual([delivery.id, delivery.verified, delivery.answered], [id, true, 500]);
});

test('a replay comes first, in order, and what is published meanwhile once', async () => {
  const ids = await published(4);
  const meanwhile = Promise.withResolvers<string[]>();
  const handler = await startReceiver((response, _, count) => {
    if (count === 1) meanwhile.resolve(published(2));
    response.writeHead(200).end();
  });
  const command = listen(['--forward-to', handler.url, '--replay', '3']);
  await handler.waitFor(5);
  ids.push(...(await meanwhile.promise));
  const seen = (await lines(command, 'response', 5)).map(({ id }) => id);
  assert.deepEqual(seen, ids.slice(1));
});

test('a replay of an app without events loses none that comes as it begins', async () => {
  const fresh = await startTestService({ worker: true });
  await put(fresh.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const command = listen(['--replay', '5'], {
    env: { ORGDIR_URL: fresh.url, ORGDIR_API_KEY: fresh.key },
  });
  await lines(command, 'listening');
  const id = await announce(fresh.database);
  const [delivery] = await lines(command, 'delivery');
  assert.equal(delivery.id, id);
});

test('several events are filtered, and an unknown or opt-in name is refused with advice', async () => {
  const command = listen(['--event', 'alliance.created', '--event', 'org.created']);
  await lines(command, 'listening');
  await put(service.database, 'alliances', [{ name: 'Pact' }], { emitEvents: true });
  const id = await publish();
  const seen = await lines(command, 'delivery', 2);
  assert.deepEqual(seen.map(({ event }) => event).sort(), ['alliance.created', 'org.created']);
  assert.ok(seen.some((each) => each.id === id));
  const only = listen(['--event', 'alliance.created', '--replay', '1']);
  const [one] = await lines(only, 'delivery');
  assert.equal(one.event, 'alliance.created');
});

test('a lost connection is said once, and no event is lost or doubled', async () => {
  const proxy = await startProxy({ host: '127.0.0.1', port });
  after(() => proxy.close());
  const handler = await startReceiver();
  const command = listen(['--forward-to', handler.url], {
    env: { ORGDIR_URL: `http://127.0.0.1:${proxy.port}` },
  });
  await lines(command, 'listening');
  const ids = [await publish()];
  await handler.waitFor(1);
  proxy.cut();
  await command.waitFor(/No events come: .*\. Connecting again\.\n/);
  ids.push(...(await published(2)));
  proxy.mend();
  await command.waitFor(/Connected again\.\n/);
  ids.push(await publish());
  const seen = (await lines(command, 'response', 4)).map(({ id }) => id);
  assert.deepEqual(seen, ids);
  assert.equal(command.stderr.match(/No events come/g)?.length, 1, command.stderr);
});

test('one handler is asked at a time, and no redirect is followed', async () => {
  const elsewhere = await startReceiver();
  const first = Promise.withResolvers<() => void>();
  const handler = await startReceiver((response, _, count) => {
    if (count === 1) first.resolve(() => void response.writeHead(200).end());
    else response.writeHead(302, { location: elsewhere.url }).end();
  });
  const command = listen(['--forward-to', handler.url]);
  await lines(command, 'listening');
  const ids = await published(2);
  const respond = await first.promise;
  assert.equal(handler.received.length, 1, 'the second waits');
  respond();
  const seen = await lines(command, 'response', 2);
  assert.deepEqual(
    seen.map(({ id, status }) => [id, status]),
    [
      [ids[0], 200],
      [ids[1], 302],
    ],
  );
  assert.equal(elsewhere.received.length, 0);
});

test('a handler that is not there is shown, and the next event is sent', async () => {
  const command = listen(['--forward-to', 'http://localhost:1/']);
  await lines(command, 'listening');
  await published(2);
  for (const { status, body } of await lines(command, 'response', 2)) {
    assert.equal(status, null);
    assert.match(body, /ECONNREFUSED/);
  }
});

test('no event is lost while a handler is slower than the service lets a stream be', async () => {
  const first = Promise.withResolvers<() => void>();
  const handler = await startReceiver((response, _, count) => {
    if (count === 1) first.resolve(() => void response.writeHead(200).end());
    else response.writeHead(200).end();
  });
  const proxy = await startProxy({ host: '127.0.0.1', port });
  after(() => proxy.close());
  const command = listen(['--forward-to', handler.url], {
    env: { ORGDIR_URL: `http://127.0.0.1:${proxy.port}` },
  });
  await lines(command, 'listening');
  const ids = await published(1);
  const respond = await first.promise;
  // As the service does with a stream that is not read.
  proxy.cut();
  proxy.mend();
  ids.push(...(await published(3)));
  respond();
  const seen = (await lines(command, 'response', 4)).map(({ id }) => id);
  assert.deepEqual(seen, ids);
});

test('localhost may be an IPv6 address alone', async (context) => {
  const server = createServer((_, response) => response.end('six'));
  server.listen(0, '::1');
  const failed = await Promise.race([
    once(server, 'listening').then(() => false),
    once(server, 'error').then(() => true),
  ]);
  if (failed) return context.skip('no IPv6');
  after(() => server.close());
  const { port: six } = server.address() as AddressInfo;
  const command = startClient(
    ['trigger', 'org.created', '--json', '--forward-to', `http://[::1]:${six}/`],
    { env: { WEBHOOK_SECRET: secret } },
  );
  assert.equal((await command.ended).code, 0, command.stderr);
});

test('the service may be below a path', async () => {
  const proxy = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? '').replace(/^\/below/, '');
    const { method, headers } = incoming;
    const sent = request({ port, path, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(sent);
    sent.on('error', () => outgoing.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port: below } = proxy.address() as AddressInfo;
  const command = listen(['--service', `http://127.0.0.1:${below}/below/`], {
    env: { ORGDIR_URL: 'http://127.0.0.1:1' },
  });
  await lines(command, 'listening');
  const id = await publish();
  const [delivery] = await lines(command, 'delivery');
  assert.equal(delivery.id, id);
});

test('headers have the name of the service', async () => {
  const named = await startTestService({ worker: true, env: { SERVICE_NAME: 'Guild' } });
  await put(named.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const handler = await startReceiver();
  const command = listen(['--forward-to', handler.url], {
    env: { ORGDIR_URL: named.url, ORGDIR_API_KEY: named.key },
  });
  await lines(command, 'listening');
  await announce(named.database);
  const [{ headers }] = (await handler.waitFor(1)) as any;
  assert.equal(headers['x-guild-event'], 'org.created');
});

test('a key that is refused or ends while it runs ends it with 1 and the reason', async () => {
  const refused = listen([], { env: { ORGDIR_API_KEY: 'odk_hidden-words' } });
  assert.equal((await refused.ended).code, 1);
  assert.equal(JSON.parse(refused.stderr).error.code, 'unauthorized');
  assert.match(refused.stderr, /scope read:events in the portal/);
  assert.ok(!(refused.stderr + refused.stdout).includes('hidden-words'));

  const limited = await makeKey(service, { scopes: ['read:directory'] });
  const lacking = listen([], { env: { ORGDIR_API_KEY: limited.key } });
  assert.equal((await lacking.ended).code, 1);
  assert.equal(JSON.parse(lacking.stderr).error.code, 'forbidden');

  const { keyId, key } = await makeKey(service);
  const command = listen([], { env: { ORGDIR_API_KEY: key } });
  await lines(command, 'listening');
  await service.database.transaction().execute((tx) => revokeKey(tx, testActor, keyId));
  assert.deepEqual(await command.ended, { code: 1, signal: null }, command.stderr);
  assert.match(command.stderr, /A valid API key is required/);
});

test('the key comes from standard input', async () => {
  const command = listen(['--key', '-'], {
    input: `${service.key}\n`,
    env: { ORGDIR_API_KEY: '' },
  });
  await lines(command, 'listening');
  command.signal('SIGTERM');
  assert.equal((await command.ended).code, 0, command.stderr);
});

test('a closed standard output ends it', async () => {
  const command = listen([]);
  await lines(command, 'listening');
  command.closeOutput();
  await publish();
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
  assert.equal(command.stderr, '');
});

test('the secret is made once, printed once, and kept from others', async () => {
  const folder = await temporaryFolder();
  const start = async () => {
    const command = startClient(['listen'], { env: { ...env, XDG_CONFIG_HOME: folder } });
    await command.waitFor(/^Receiving events of .*\n/m);
    command.signal('SIGINT');
    await command.ended;
    return command;
  };
  const first = await start();
  const [made] = /whsec_\S+/.exec(first.stdout) ?? [];
  const file = join(folder, 'orgdir-client/webhook-secret');
  assert.equal((await readFile(file, 'utf8')).trim(), made);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(join(folder, 'orgdir-client'))).mode & 0o777, 0o700);
  const second = await start();
  assert.ok(!second.stdout.includes('whsec_') && second.stdout.includes(file), second.stdout);

  await chmod(file, 0o644);
  const open = startClient(['listen'], { env: { ...env, XDG_CONFIG_HOME: folder } });
  assert.equal((await open.ended).code, 1);
  assert.match(open.stderr, /others can read the secret in .*chmod 600/);
});

test('with --register the service sends, and the webhook goes with the command', async () => {
  const allowed = await startTestService({
    worker: true,
    env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: 'true' },
  });
  await put(allowed.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const command = listen(['--register', '--port', '0', '--key', '-'], {
    input: allowed.key,
    env: { ORGDIR_URL: allowed.url },
  });
  const [start] = await lines(command, 'listening');
  const listed = await allowed.call('/webhooks');
  assert.deepEqual(
    listed.body.data.map(({ id }: { id: string }) => id),
    [start.webhookId],
  );
  await announce(allowed.database);
  const [delivery] = await lines(command, 'delivery');
  assert.equal(delivery.verified, true);
  command.signal('SIGINT');
  assert.equal((await command.ended).code, 0, command.stderr);
  assert.deepEqual((await allowed.call('/webhooks')).body.data, []);
});

test('invalid arguments exit with 2 and say what to do, without repeating secrets', async () => {
  const cases: [string[], RegExp][] = [
    [[], /must be listen or trigger/],
    [['listen', 'odk_hidden-words'], /takes options only/],
    [['listen', '--key', 'odk_hidden-words'], /--key takes only -/],
    [['listen', '--nonsense'], /--help for usage/],
    [['listen', '--event', 'org.creatd'], /did you mean org\.created\?/],
    [['listen', '--event', 'org.updated'], /add --webhook/],
    [['listen', '--replay', '0'], /from 1 to 100/],
    [['listen', '--forward-to', 'ftp://127.0.0.1/'], /http or https address/],
    [['listen', '--forward-to', 'http://a:hidden-words@x/'], /without user and password/],
    [['listen', '--forward-to', 'http://x/', '--status', '500'], /--status cannot be used/],
    [['listen', '--forward-to', 'http://x/', '--secret', secret], /--forward-to cannot be used/],
    [['listen', '--service', 'nonsense'], /--service must be/],
    [['trigger', 'org.create'], /did you mean org\.created\?/],
    [['trigger', 'org.created', '--service-name', 'a\nb'], /letters and digits/],
  ];
  for (const [args, reason] of cases) {
    const command = startClient(args, { env });
    assert.equal((await command.ended).code, 2, args.join(' '));
    assert.match(command.stderr, reason);
    assert.ok(!command.stderr.includes('hidden-words'));
  }
  const keyless = startClient(['listen', '--service', service.url]);
  assert.equal((await keyless.ended).code, 1);
  assert.match(keyless.stderr, /set ORGDIR_API_KEY.*read:events/);
  const unknown = startClient(['listen'], { env: { ORGDIR_API_KEY: service.key } });
  assert.equal((await unknown.ended).code, 2);
  assert.match(unknown.stderr, /add --service/);
});

test('with --webhook it streams what the webhook is sent: by its filters, also opt-in events', async () => {
  const handler = await startReceiver();
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    json: {
      url: 'https://example.org/',
      events: ['org.created', 'org.updated'],
      filters: Object.fromEntries(
        ['org.created', 'org.updated'].map((name) => [name, { name: { $startsWith: 'Wanted' } }]),
      ),
    },
  });
  const command = listen(['--webhook', body.data.id, '--forward-to', handler.url]);
  const [start] = await lines(command, 'listening');
  assert.equal(start?.webhookId, body.data.id);
  const orgs = [{ name: 'Unwanted' }, { name: 'Wanted', slug: 'wanted' }];
  await put(service.database, 'orgs', orgs, { emitEvents: true });
  await handler.waitFor(2);
  assert.deepEqual(
    handler.received.map(({ headers, body: text }) => [
      headers['x-service-event'],
      JSON.parse(text.toString()).data.name,
    ]),
    [
      ['org.created', 'Wanted'],
      ['org.updated', 'Wanted'],
    ],
  );
  // It ends when the webhook does.
  await service.call(`/webhooks/${body.data.id}`, { method: 'DELETE' });
  assert.equal((await command.ended).code, 1);
  assert.match(command.stderr, /query\.webhook/);
});

test('the key is read from standard input that stays open', async () => {
  const command = listen(['--key', '-'], { env: { ORGDIR_API_KEY: '' }, input: null });
  command.write(`${service.key}\n`);
  await lines(command, 'listening');
  command.signal('SIGINT');
  assert.equal((await command.ended).code, 0);
});

test('a handler that answers 101 or pauses in its body keeps no event back', async () => {
  const answers = ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'];
  answers.push('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe start');
  answers.push('HTTP/1.1 204 No Content\r\n\r\n');
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(answers.shift() ?? ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const command = listen([
    '--forward-to',
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  ]);
  await lines(command, 'listening');
  for (let count = 0; count < 3; count += 1) await publish();
  const responses = await lines(command, 'response', 3);
  assert.deepEqual(
    responses.map(({ status, body }) => [status, body]),
    [
      [null, 'the connection was closed without a response'],
      [200, 'the start'],
      [204, ''],
    ],
  );
});

test('--register says that another server is not the service', async () => {
  const server = createServer((_, response) => response.end('<!doctype html>'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const command = listen(['--register', '--port', '0'], { env: { ORGDIR_URL: url } });
  assert.equal((await command.ended).code, 1);
  assert.match(command.stderr, /127\.0\.0\.1:\d+\/? is not the service: GET \/api\/v1\/webhooks/);
});
