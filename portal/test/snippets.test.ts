import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { deliveryHeaders, signingKey } from '../../service/src/webhooks/sending/sign.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { freePort } from '../../service/test/support/free-port.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';

/** The file of a snippet, which the portal shows as it is. */
const snippet = (name: string) =>
  fileURLToPath(new URL(`../src/webhooks/snippets/${name}`, import.meta.url));

type Delivery = { headers: Record<string, string>; body: Buffer };
/** Resolves with the status that the program answers. */
type Ask = (delivery: Delivery) => Promise<number>;

const endings: (() => Promise<void>)[] = [];
after(async () => {
  for (const ending of endings) await ending();
});

const service = await startTestService({ env: loopbackAllowed });
const receiver = await startReceiver();
const { body: created } = await service.call('/webhooks', {
  method: 'POST',
  json: { url: receiver.url },
});
const { id: webhookId, secret } = created.data;

async function post(path: string, json: object = {}) {
  const { status, body } = await service.call(path, { method: 'POST', json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}

/** The request that the receiver got from a test. Its sample has non-ASCII letters and every JSON type. */
async function deliver(id: string = webhookId): Promise<Delivery> {
  await post(`/webhooks/${id}/test`, { event: 'org.created' });
  const { headers, body } = receiver.received.at(-1)!;
  return { headers, body };
}

const delivered = await deliver();
const { id: strangersId } = await post('/webhooks', { url: receiver.url });
const ofAnotherWebhook = await deliver(strangersId);
await post(`/webhooks/${webhookId}/rotate-secret`, { overlapSeconds: 3600 });
const duringOverlap = await deliver();

/** The delivery, signed by the service's own function at another time. */
function signedAt(now: Date): Delivery {
  const current = signingKey(secret);
  const headers = deliveryHeaders({
    serviceName: 'Service',
    version: '0.0.0-test',
    id: delivered.headers['webhook-id']!,
    event: 'webhook.test',
    body: delivered.body,
    secrets: { current, previous: null },
    now,
  });
  return { headers, body: delivered.body };
}

const secondsFromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);

function withHeader(name: string, value: string | undefined): Delivery {
  const { [name]: _, ...headers } = delivered.headers;
  return {
    headers: value === undefined ? headers : { ...headers, [name]: value },
    body: delivered.body,
  };
}

const changedBody = Buffer.from(delivered.body);
// One bit of a letter within the message.
changedBody[changedBody.indexOf('works')]! ^= 1;

const genuine: Record<string, () => Delivery> = {
  'a delivery as it came': () => delivered,
  'a delivery with the signatures of two secrets': () => duringOverlap,
  'a delivery that was four minutes on its way': () => signedAt(secondsFromNow(-240)),
};

const forged: Record<string, () => Delivery> = {
  'a changed body': () => ({ ...delivered, body: changedBody }),
  'a line end after the body': () => ({
    ...delivered,
    body: Buffer.concat([delivered.body, Buffer.from('\n')]),
  }),
  'a body without bytes': () => ({ ...delivered, body: Buffer.alloc(0) }),
  'a delivery that was signed with another secret': () => ofAnotherWebhook,
  'an old delivery': () => signedAt(secondsFromNow(-310)),
  'a delivery from the future': () => signedAt(secondsFromNow(310)),
  'an old delivery with the time of now': () => ({
    headers: {
      ...signedAt(secondsFromNow(-3600)).headers,
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    },
    body: delivered.body,
  }),
  'another id': () => withHeader('webhook-id', ofAnotherWebhook.headers['webhook-id']),
  'no signature': () => withHeader('webhook-signature', undefined),
  'an empty signature': () => withHeader('webhook-signature', ''),
  'a signature without its version': () =>
    withHeader('webhook-signature', delivered.headers['webhook-signature']!.slice(3)),
  'the beginning of the signature': () =>
    withHeader('webhook-signature', delivered.headers['webhook-signature']!.slice(0, 20)),
  'a pattern of the shell for a signature': () => withHeader('webhook-signature', '* v1,*'),
  'no time': () => withHeader('webhook-timestamp', undefined),
  'a time that is no number': () => withHeader('webhook-timestamp', 'now'),
  'a time beyond all numbers': () => withHeader('webhook-timestamp', '9'.repeat(40)),
};

for (const [language, { missing, start }] of Object.entries(programs()))
  suite(`the receiver in ${language}`, { skip: missing }, () => {
    let ask: Ask;
    test('starts', async () => {
      ask = await start();
    });
    for (const [what, delivery] of Object.entries(genuine))
      test(`takes ${what}`, async () => assert.equal(await ask(delivery()), 204));
    for (const [what, delivery] of Object.entries(forged))
      test(`refuses ${what}`, async () => assert.equal(await ask(delivery()), 401));
  });

test(
  'the receiver in Shell takes nothing where its openssl makes no signature',
  { skip: unless('openssl', ['version']) },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'orgdir-snippet-'));
    endings.push(() => rm(folder, { recursive: true, force: true }));
    const program =
      '#!/bin/sh\ncase "$*" in *-mac*) exit 1 ;; esac\nPATH=${PATH#*:} exec openssl "$@"\n';
    await writeFile(join(folder, 'openssl'), program, { mode: 0o755 });
    const path = `${folder}:${process.env['PATH']}`;
    assert.equal(await askShell(delivered, path), 500);
    assert.equal(await askShell(withHeader('webhook-signature', 'v1,'), path), 500);
  },
);

type Program = { missing: string | false; start: () => Promise<Ask> };

function programs(): Record<string, Program> {
  return {
    TypeScript: {
      missing: false,
      start: () => serve(process.execPath, [snippet('typescript.ts')]),
    },
    Python: {
      missing: unless('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']),
      start: () => serve('python3', [snippet('python.py')]),
    },
    Go: { missing: unless('go', ['version']), start: startGo },
    PHP: {
      missing: unless('php', ['--version']),
      start: () => serve('php', (port) => ['-S', `127.0.0.1:${port}`, snippet('php.php')]),
    },
    Shell: {
      missing: unless('openssl', ['version']),
      start: async () => (delivery) => askShell(delivery),
    },
  };
}

function unless(command: string, args: string[]): string | false {
  const { status } = spawnSync(command, args, { stdio: 'ignore' });
  return status === 0 ? false : `${command} is not here, or too old`;
}

async function startGo(): Promise<Ask> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-snippet-'));
  endings.push(() => rm(folder, { recursive: true, force: true }));
  const program = join(folder, 'receiver');
  const build = spawn('go', ['build', '-o', program, snippet('go.go')], {
    stdio: 'inherit',
    // Nothing is fetched: it needs the standard library alone.
    env: { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
  });
  assert.deepEqual(await once(build, 'exit'), [0, null]);
  return serve(program, []);
}

/** A program that listens, with the secret in its environment. */
async function serve(command: string, args: string[] | ((port: number) => string[])): Promise<Ask> {
  const port = await freePort();
  const child = spawn(command, typeof args === 'function' ? args(port) : args, {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
  });
  endings.push(() => end(child));
  await eventually(async () => {
    assert.equal(child.exitCode, null, `${command} has ended`);
    return canConnect(port);
  });
  return async ({ headers, body }) => {
    const { host: _host, connection: _connection, ...sent } = headers;
    const response = await fetch(`http://127.0.0.1:${port}/hook`, {
      method: 'POST',
      headers: { ...sent, 'content-length': String(body.length) },
      body: new Uint8Array(body),
    });
    await response.arrayBuffer();
    return response.status;
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** As a web server runs a CGI program (RFC 3875). */
async function askShell({ headers, body }: Delivery, path = process.env['PATH']): Promise<number> {
  const variables = Object.entries(headers).map(([name, value]) => [
    `HTTP_${name.toUpperCase().replaceAll('-', '_')}`,
    value,
  ]);
  const child = spawn('sh', [snippet('shell.sh')], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: path,
      ...Object.fromEntries(variables),
      CONTENT_LENGTH: String(body.length),
      WEBHOOK_SECRET: secret,
    },
  });
  // It may answer before it has read the body.
  child.stdin.on('error', () => {}).end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) chunks.push(chunk);
  const [, status] = /^Status: (\d{3})/.exec(Buffer.concat(chunks).toString()) ?? [];
  return Number(status);
}
