/** `orgdir listen`: a receiver that verifies, prints, and cleans up after itself. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { deliveryHeaders, signingKey } from '../../src/webhooks/sending/sign.ts';
import { isAlive, startCommand, type Command } from '../support/command.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { runHere } from '../support/run-here.ts';
import { loopbackAllowed } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const key = randomBytes(32);
const service = await startTestService({
  worker: true,
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
  beside: { ...(await openTestDatabase()), secretKeys: [key] },
});
const folder = await temporaryFolder();
const env = {
  DATABASE_URL: toUrl(service.connection),
  SECRET_KEY: key.toString('base64'),
  DATA_DIR: folder,
  ...loopbackAllowed,
};
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const started: Command[] = [];
afterEach(async () => {
  for (const { pid, ended } of started.splice(0)) {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    await ended;
  }
});

type Listening = Command & { url: string; webhookId: string | null };

async function listen(args: string[], input = '', port = '0'): Promise<Listening> {
  const command = startCommand(['listen', '--port', port, '--json', ...args], { env, input });
  started.push(command);
  const [line] = await command.waitFor(/^\{"type":"listening".*\n/m);
  const { url, webhookId } = JSON.parse(line);
  return Object.assign(command, { url, webhookId });
}

/** Those that were printed, once there are so many. */
async function deliveries(command: Command, count = 1): Promise<any[]> {
  await command.waitFor(new RegExp(`(^\\{"type":"delivery".*\\n(.*\\n)*?){${count}}`, 'm'));
  const lines = command.stdout.split('\n').filter((line) => line.startsWith('{"type":"delivery"'));
  return lines.map((line) => JSON.parse(line));
}

const publish = () => announce(service.database);

async function webhooks(): Promise<{ id: string; url: string }[]> {
  const { rows } = await sql<{
    id: string;
    url: string;
  }>`select id, url from webhooks order by id`.execute(service.database);
  return rows;
}

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const data = '{"number":12345678901234567890,"text":"\\u001b[2J"}';

/** A delivery as the service would make it. */
function signed(options: { secret?: string; ageSeconds?: number; data?: string } = {}) {
  const id = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  const body = Buffer.from(
    `{"id":"${id}","event":"org.created","createdAt":"2026-11-20T12:00:00.000Z","data":${options.data ?? data}}`,
  );
  const headers = deliveryHeaders({
    serviceName: 'Service',
    version: '0',
    id,
    event: 'org.created',
    body,
    secrets: { current: signingKey(options.secret ?? secret), previous: null },
    now: new Date(Date.now() - 1000 * (options.ageSeconds ?? 0)),
  });
  const { 'content-length': _, ...sent } = headers;
  return { method: 'POST', headers: sent, body };
}

for (const [how, args, input, signal] of [
  ['in the database', ['--app', service.appId], '', 'SIGINT'],
  ['with a key', ['--key', '-', '--service', service.url], `${service.key}\n`, 'SIGTERM'],
] as const) {
  test(`it registers ${how}, verifies what comes, and is gone at the end`, async () => {
    const command = await listen(['--register', ...args, '--event', 'org.created'], input);
    assert.deepEqual(await webhooks(), [{ id: command.webhookId, url: command.url }]);
    await publish();
    const [delivery] = await deliveries(command);
    assert.deepEqual(
      [delivery.event, delivery.verified, delivery.signatures, delivery.answered],
      ['org.created', true, { standard: { verified: true }, service: { verified: true } }, 200],
    );
    assert.equal(JSON.parse(delivery.body).id, delivery.id);
    assert.equal(JSON.parse(delivery.body).data.slug, 'acme');
    command.signal(signal);
    assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
    assert.deepEqual(await webhooks(), []);
    assert.equal(command.stderr, '');
    assert.ok(!command.stdout.includes('whsec_') && !command.stdout.includes(service.key));
  });
}

test('the next listener cleans up after a killed one', async () => {
  const register = ['--register', '--app', service.appId];
  const killed = await listen(register);
  const beside = await listen(register);
  killed.signal('SIGKILL');
  await killed.ended;
  assert.equal((await webhooks()).length, 2);
  const port = String(await freePort());
  const next = await listen(register, '', port);
  assert.deepEqual(
    (await webhooks()).map(({ id }) => id),
    [beside.webhookId, next.webhookId],
    'the one that still listens stays',
  );
  next.signal('SIGKILL');
  await next.ended;
  const same = await listen(register, '', port);
  for (const command of [beside, same]) {
    command.signal('SIGINT');
    await command.ended;
  }
  assert.deepEqual(await webhooks(), []);
});

test('a non-2xx status makes the service retry', async () => {
  const command = await listen(['--register', '--app', service.appId, '--status', '500']);
  await publish();
  const tried = await deliveries(command, 6);
  assert.ok(
    tried.every(({ id, answered, verified }) => id === tried[0].id && answered === 500 && verified),
  );
  command.signal('SIGINT');
  await command.ended;
});

test('one matching secret is enough, and other failures are explained', async () => {
  const other = `whsec_${randomBytes(32).toString('base64')}`;
  const command = await listen(['--secret', other, '--secret', '-'], `${secret}\n`);
  const unsigned = { method: 'POST', body: 'hello', headers: { 'x-service-event': 'org.created' } };
  const stranger = signed({ secret: `whsec_${randomBytes(32).toString('base64')}` });
  for (const request of [
    signed(),
    signed({ secret: other }),
    stranger,
    signed({ ageSeconds: 600 }),
    unsigned,
  ])
    assert.equal((await fetch(command.url, request)).status, 200);
  const found = await deliveries(command, 5);
  assert.deepEqual(
    found.map(({ verified }) => verified),
    [true, true, false, false, false],
  );
  assert.match(found[2].signatures.service.reason, /No signature matches this body and secret/);
  assert.equal(found[3].signatures.service.verified, true);
  assert.match(found[3].signatures.standard.reason, /The delivery was signed 60\d s ago/);
  assert.match(
    found[4].signatures.standard.reason,
    /webhook-timestamp is missing|webhook-id is missing/,
  );
});

test('the text output is readable, keeps every digit and escapes control characters', async () => {
  const command = startCommand(['listen', '--port', '0', '--secret', secret], { env, input: '' });
  started.push(command);
  const [, url = ''] = await command.waitFor(/^Listening at (\S+)\. Press Ctrl-C to stop\.$/m);
  await fetch(url, signed());
  await fetch(url, { ...signed(), headers: { 'x-service-event': 'org\u009bcreated' } });
  await command.waitFor(/NOT VERIFIED \(X-…-Signature: .+ Standard Webhooks: .+\), answered 200\n/);
  assert.match(
    command.stdout,
    /Z {2}org\.created {2}0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f {2}verified, answered 200\n {2}\{\n {4}"id"/,
  );
  assert.match(command.stdout, /"number": 12345678901234567890,/);
  assert.match(
    command.stderr,
    /^orgdir listen is deprecated and will be removed in 2\.0\.0\..*\n$/,
  );
  assert.match(command.stdout, /org\\u009bcreated/);
  assert.doesNotMatch(command.stdout.replaceAll('\n', ' '), /\p{Cc}/u);
});

test('no body breaks lines or reverses text, in text or JSON output', async () => {
  const unsafe = '\u007f\u0085\u009b\u061c\u200f\u2028\u2029\u202a\u202e\u2066\u2069';
  const escaped = String.raw`\u007f\u0085\u009b\u061c\u200f\u2028\u2029\u202a\u202e\u2066\u2069`;
  const bodies = [`{"text":"${unsafe}"}`, `no JSON ${unsafe}`];
  const words = startCommand(['listen', '--port', '0'], { env, input: '' });
  started.push(words);
  const [, url = ''] = await words.waitFor(/^Listening at (\S+)\. Press Ctrl-C to stop\.$/m);
  const lines = await listen([]);
  for (const body of bodies)
    for (const to of [url, lines.url]) await fetch(to, { method: 'POST', body });
  for (const command of [words, lines]) await command.waitFor(/no JSON [^\n]+\n/);
  const printed = lines.stdout.trim().split('\n').slice(1);
  assert.deepEqual(
    printed.map((line) => JSON.parse(line).body),
    bodies,
  );
  for (const { stdout } of [words, lines]) {
    assert.equal(stdout.split(escaped).length, 3, stdout);
    assert.doesNotMatch(stdout.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
  }
});

test('without a secret, deliveries are shown as not verified', async () => {
  const command = await listen([]);
  await fetch(command.url, signed());
  const [delivery] = await deliveries(command);
  assert.deepEqual([delivery.verified, delivery.signatures], [null, null]);
});

test('requests that are not deliveries are rejected and not printed', async () => {
  const command = await listen([]);
  assert.equal((await fetch(command.url)).status, 405);
  const large = await fetch(command.url, {
    method: 'POST',
    body: Buffer.alloc(2 * 1024 * 1024),
  }).then(
    ({ status }) => status,
    () => 'cut',
  );
  assert.ok(large === 413 || large === 'cut', String(large));
  await fetch(command.url, signed());
  assert.equal((await deliveries(command)).length, 1);
});

test('invalid options are rejected without repeating secrets', async () => {
  const command = await listen([]);
  const port = new URL(command.url).port;
  const wrongWords: [string[], RegExp][] = [
    [['--register'], /--register requires either --app or --key/],
    [['--register', '--app', service.appId, '--key', 'odk_hidden-words'], /requires either/],
    [['--app', service.appId], /require --register/],
    [['--key', '-', '--secret', '-', '--register'], /cannot both be read/],
    [
      ['--register', '--key', 'odk_hidden-words', '--service', 'nonsense'],
      /--service <url>.* must be an http or https address/,
    ],
    [['--status', '100'], /must be a whole number/],
  ];
  const refused: [string[], RegExp][] = [
    [['--secret', 'whsec_hidden-words'], /as it was shown/],
    [['--port', port], new RegExp(`another program uses port ${port}`)],
    [['--register', '--app', '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f'], /no app/],
    [
      ['--register', '--key', 'odk_hidden-words', '--service', service.url],
      /the service refused the request: .*key is required/,
    ],
    [
      ['--register', '--key', 'odk_hidden-words', '--service', 'http://127.0.0.1:1'],
      /the service does not respond/,
    ],
  ];
  for (const [expected, cases] of [
    [2, wrongWords],
    [1, refused],
  ] as const)
    for (const [args, reason] of cases) {
      const { code, stderr } = await runHere(['listen', '--port', '0', ...args], env);
      assert.equal(code, expected, args.join(' '));
      assert.match(stderr, reason);
      assert.ok(!stderr.includes('hidden-words'));
    }
});

test('a service that rejects local addresses gets a hint', async () => {
  const strict = { ...env, WEBHOOK_ALLOWED_NETWORKS: '', WEBHOOK_ALLOW_HTTP: '' };
  const args = ['listen', '--port', '0', '--register', '--app', service.appId];
  const { code, stderr } = await runHere(args, strict);
  assert.equal(code, 1);
  assert.match(stderr, /set WEBHOOK_ALLOWED_NETWORKS=127\.0\.0\.0\/8 and WEBHOOK_ALLOW_HTTP=true/);
  assert.deepEqual(await webhooks(), []);
});

test('a closed pipe ends it and its registration', async () => {
  const command = await listen(['--register', '--app', service.appId]);
  command.closeOutput();
  await publish();
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
  assert.deepEqual(await eventually(async () => [await webhooks()]), [[]]);
});
