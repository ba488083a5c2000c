/**
 * Runs the guides as a reader would: the blocks of a guide one after the other in one shell, in an empty folder.
 * The first line of a block says what happens to it: `title="x.mjs"` saves it, `run` runs it, `run background` starts it
 * and goes on, `run background again` ends the receiver before, `after="text"` waits until a program in the background has printed the text.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Lexer, type Tokens } from 'marked';
import { toUrl } from '../../service/test/support/database.ts';
import { announce, blueprint, put } from '../../service/test/support/directory.ts';
import { endedDelivery, eventually } from '../../service/test/support/eventually.ts';
import { freePort } from '../../service/test/support/free-port.ts';
import { startInternalApi } from '../../service/test/support/internal-api.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { version } from '../../service/src/runtime/version.ts';
import { createReader, root, unless } from './support/reader.ts';

const service = await startTestService({
  worker: true,
  env: {
    ...loopbackAllowed,
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_RETRY_FACTOR: '1',
    WEBHOOK_DEACTIVATE_AFTER: '1',
  },
});
const internal = await startInternalApi(service);
await put(service.database, 'orgs', [
  { slug: 'nokia', name: 'Nokia', recruiting: true, language: 'en' },
  { slug: 'acme-corporation', name: 'Acme Corporation' },
]);
await put(service.database, 'blueprints', [blueprint()]);
await service.settled();

const receivers = {
  'node receiver.mjs': false,
  'python3 receiver.py': unless('python3', '--version'),
  'go run receiver.go': unless('go', 'version'),
};
for (const [command, missing] of Object.entries(receivers))
  test(`quick start with ${command}`, { skip: missing }, async () => {
    const output = await runGuide('guides/quick-start.md', {
      replace: { 'node receiver.mjs': command },
      waitFor: /verified webhook\.test/,
    });
    assert.match(output, /org\.created {2}[0-9a-f-]+ {2}204 in \d+ ms/);
    assert.match(output, /^verified org\.created/m);
  });

test('the quick start needs Node.js only for the command and its own receiver', async () => {
  const text = await readFile(join(root, 'docs/guides/quick-start.md'), 'utf8');
  for (const command of Object.keys(receivers)) assert.ok(text.includes(command), command);
  assert.doesNotMatch(text.replaceAll('node receiver.mjs', ''), /^(node|npm install)\b|\$\(node/m);
});

test('guides take values out of responses without Node.js', async () => {
  const folder = join(root, 'docs/guides');
  for (const name of await readdir(folder))
    assert.doesNotMatch(await readFile(join(folder, name), 'utf8'), /\bnode -[ep]\b/, name);
});

test('retries and idempotency', async () => {
  const output = await runGuide('guides/retries-and-idempotency.md', {
    replace: {
      // Until the response is recorded, however long that takes on a busy machine.
      'sleep 1': `ID=$(sed -E 's/.*"data":\\{"id":"([^"]+)".*/\\1/' webhook.json)
until curl -s "$API/webhooks/$ID/deliveries?status=succeeded" -H "Authorization: Bearer $KEY" | grep -q '"data":\\[{'; do sleep 0.05; done`,
    },
    waitFor: /known org\.created/,
  });
  assert.match(output, /new org\.created/);
});

test('deactivation and recovery', async () => {
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  const created = await service.call('/webhooks', { method: 'POST', json: { url: receiver.url } });
  const { id } = created.body.data;
  await announce(service.database, 'nokia');
  await endedDelivery(service, id);
  await eventually(async () => !(await service.call(`/webhooks/${id}`)).body.data.active);
  receiver.respond = (response) => response.writeHead(204).end();
  const output = await runGuide('guides/deactivation-and-recovery.md', { env: { ID: id } });
  assert.match(output, /"deactivatedReason":"failing"/);
  assert.match(output, /"status":"succeeded"/);
  assert.match(output, /("failed":1,"cancelled":0,"missed":0[^]*){2}/);
  assert.match(output, /"replayAfterHealing":true/);
});

test('poll /events', async () => {
  await announce(service.database, 'acme-corporation');
  await eventually(async () => (await service.call('/events')).body.data.length > 0);
  const output = await runGuide('guides/poll-events.md', {
    waitFor: /org\.created/,
    // In a folder of its own, because `follow` may be about to write its cursor.
    finally:
      'mkdir apart && cp cursor poll.sh apart && (cd apart && cp cursor before; KEY=none sh poll.sh && exit 1; cmp cursor before && echo "kept the cursor")',
  });
  assert.match(output, /kept the cursor/);
  assert.match(output, /^org\.created [0-9a-f-]{36}[^]*Waiting[^]*^org\.created [0-9a-f-]{36}$/m);
});

test('pages and search', async () => {
  const output = await runGuide('guides/pages-and-search.md');
  assert.match(output, /Nokia\nAcme Corporation/);
  assert.match(output, /^304$/m);
});

test('bind an app', async () => {
  await runGuide('guides/bind-an-app.md');
  const { rows } = await eventually(async () => {
    const { body } = await service.call('/events');
    return { rows: body.data as { event: string }[] };
  });
  assert.ok(!rows.some(({ event }) => event === 'application.created'), 'only for the bound app');
});

test('chat channels', async () => {
  const output = await runGuide('guides/chat-channels.md', {
    // The guide leaves out the credential.
    replace: { 'webhooks/…",': 'webhooks/1042/Zm9v",' },
  });
  const created = /\{"success".*/.exec(output)?.[0] ?? '{}';
  const { data } = JSON.parse(created);
  assert.equal(data?.format, 'discord', output);
  const tested = /"event": "([^"]+)"/.exec(
    await readFile(join(root, 'docs/guides/chat-channels.md'), 'utf8'),
  );
  assert.ok(data.events.includes(tested?.[1]), 'a test of an event that it gets');
  await service.call(`/webhooks/${data.id}`, { method: 'DELETE' });
});

test('writing over HTTP', async () => {
  const env = { API: `${internal.url}/internal/v1`, KEY: internal.key };
  const output = await runGuide('internal-api.md', { env });
  assert.match(output, /"memberCount":43/);
  assert.match(output, /"published":2/);
});

type Options = {
  env?: Record<string, string>;
  /** Commands that the reader writes differently. */
  replace?: Record<string, string>;
  waitFor?: RegExp;
  /** What the reader does in the end. */
  finally?: string;
};

/** Returns what the blocks and the programs in the background have printed. `waitFor` ends the guide. */
async function runGuide(
  name: string,
  { env = {}, replace = {}, waitFor, finally: last = '' }: Options = {},
): Promise<string> {
  const reader = await createReader();
  const port = await freePort();
  // With job control, a program in the background is a process group with its children: those of npx and `go run` too.
  const script = [
    'set -euom pipefail',
    'touch background.log',
    `trap '${onExit}' EXIT`,
    "trap 'exit 143' TERM",
  ];
  for (const { lang = '', text } of await blocksOf(name)) {
    const code = Object.entries(replace)
      .reduce((written, [from, to]) => written.replaceAll(from, to), text)
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${port}`)
      .replaceAll('listen(4000', `listen(${port}`)
      .replaceAll('"127.0.0.1", 4000', `"127.0.0.1", ${port}`)
      .replaceAll('http://127.0.0.1:3000', service.url)
      .replaceAll('X.Y.Z', version)
      .replaceAll('npx orgdir', 'orgdir');
    const [, title] = /title="([^"]+)"/.exec(lang) ?? [];
    const [, awaited] = /after="([^"]+)"/.exec(lang) ?? [];
    if (title) await reader.write(title, code);
    if (awaited) script.push(untilPrinted(awaited));
    if (/ run background again\b/.test(lang)) script.push(endReceiver(port));
    if (/ run background\b/.test(lang)) script.push(inBackground(code, port));
    else if (/ run\b/.test(lang)) script.push(code);
  }
  if (waitFor) script.push(untilPrinted(waitFor.source));
  script.push(last);
  await reader.write('guide.sh', script.join('\n'));
  return reader.run('bash', ['guide.sh'], {
    API: `${service.url}/api/v1`,
    KEY: service.key,
    DATABASE_URL: toUrl(service.connection),
    ...env,
  });
}

const onExit =
  'cat background.log; for job in $(jobs -p); do kill -- -$job 2>/dev/null || true; done';

async function blocksOf(name: string): Promise<Tokens.Code[]> {
  const text = await readFile(join(root, 'docs', name), 'utf8');
  return Lexer.lex(text).filter((token) => token.type === 'code') as Tokens.Code[];
}

function untilPrinted(pattern: string): string {
  return until(`grep -qE '${pattern}' background.log`);
}

/** The child of `go run` may listen for a moment longer than its parent lives. */
const endReceiver = (port: number) =>
  `kill -- -$receiver 2>/dev/null || true; wait $receiver || true\nwhile ${listens(port)}; do sleep 0.05; done`;

const listens = (port: number) => `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null`;

/** Waits until a receiver listens, or another program has printed something. */
function inBackground(code: string, port: number): string {
  const isReady = code.includes('receiver') ? listens(port) : '[ -s background.log ]';
  const started = code.includes('receiver') ? 'receiver=$!\n' : '';
  return `${code} >>background.log 2>&1 &\n${started}${until(isReady)}`;
}

/** Fails if the program in the background has ended. */
function until(condition: string): string {
  return `until ${condition}; do kill -0 $!; sleep 0.05; done`;
}
