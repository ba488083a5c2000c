/** Each documented way of starting ends when the process that was started gets SIGTERM, and nobody else. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  embeddedOnly,
  isAlive,
  newDataDir,
  newMigratedDataDir,
  removeDataDir,
  runCommand,
  serverPid,
} from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runHere } from '../support/run-here.ts';

const root = join(import.meta.dirname, '../../..');
const options = { timeout: 300_000, skip: embeddedOnly };
const dataDir = await newMigratedDataDir();
after(() => removeDataDir(dataDir));
const stopMsMax = 5_000;
const env = {
  ...loopbackAllowed,
  PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
  HOME: process.env['HOME'],
  DATA_DIR: dataDir,
  PORT: '0',
  INTERNAL_PORT: '0',
  WORKERS: '2',
  WEBHOOK_TIMEOUT_MS: '30000',
};

/** Starts it in a process group of its own, which ends with the test file at the latest. */
function start(command: string, args: string[], more: Record<string, string> = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const output = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.text += text));
  const pid = child.pid ?? 0;
  after(() => isAlive(-pid) && process.kill(-pid, 'SIGKILL'));
  return {
    output,
    hasEnded: () => child.exitCode !== null,
    /** Signals that process alone, and resolves when the last one of its group has ended, after so many milliseconds. */
    async stop(): Promise<number> {
      const closed = once(child, 'close');
      const signalledAt = performance.now();
      child.kill('SIGTERM');
      await closed;
      await eventually(async () => !isAlive(-pid));
      return performance.now() - signalledAt;
    },
  };
}

const silent = await startReceiver(() => {});

/** A delivery to a receiver that never responds is in flight when it resolves. */
async function deliverToSilence(text: string): Promise<void> {
  const [, url = ''] = /^Serving at (\S+)/m.exec(text) ?? [];
  const [, key = ''] = /^Demo key: +(\S+)/m.exec(text) ?? [];
  const created = await fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: silent.url, events: ['org.created'] }),
  });
  assert.equal(created.status, 201);
  const before = silent.received.length;
  const publish = ['events', 'publish', 'org.created', '--org', 'nokia'];
  const given = { ...loopbackAllowed, DATA_DIR: dataDir };
  assert.equal((await runHere(publish, given)).code, 0);
  await silent.waitFor(before + 1);
}

for (const [command, ...args] of [
  ['npm', 'start'],
  ['npx', 'orgdir', 'serve'],
  ['npx', '--call', 'orgdir serve'],
  ['node_modules/.bin/orgdir', 'serve'],
] as [string, ...string[]][])
  test(
    `SIGTERM to ${[command, ...args].join(' ')} stops the service in time, whatever receivers do`,
    options,
    async () => {
      const service = start(command, args);
      const { output } = service;
      await eventually(
        async () =>
          /"service\.started"[^]*^Try it|^Try it[^]*"service\.started"/m.test(output.text) ||
          service.hasEnded(),
      );
      const pid = Number(/"pid":(\d+)[^\n]*"service\.started"/.exec(output.text)?.[1]);
      assert.ok(isAlive(pid), output.text);
      await deliverToSilence(output.text);
      const ms = await service.stop();
      assert.match(output.text, /"error":"interrupted"/);
      // On a busy machine it may have to be cut.
      assert.match(output.text, /"service\.(stopped|cut)"/);
      await eventually(async () => (await serverPid(dataDir)) === null);
      await requireWithin(ms, { msMax: stopMsMax, loads: 1 }, command);
    },
  );

// As `npx` runs it: in a shell that the signal ends, and that passes nothing on.
test('the end of npx at any moment of a start ends it in time', options, async () => {
  const begin = (folder: string) =>
    start('sh', ['-c', 'orgdir serve; exit'], { npm_lifecycle_event: 'npx', DATA_DIR: folder });
  const wholeFolder = await newDataDir();
  const whole = begin(wholeFolder);
  const startMs = await timeOf(() =>
    eventually(async () => whole.output.text.includes('"service.started"')),
  );
  await whole.stop();
  await removeDataDir(wholeFolder);
  // Before it knows its parent, while it loads, and while the database and the demo are made.
  for (const share of [0, 0.01, 0.1, 0.4, 0.8]) {
    const folder = await newDataDir();
    const shell = begin(folder);
    await wait(startMs * share);
    const ms = await shell.stop();
    // A server that still stops does so by itself.
    await eventually(async () => (await serverPid(folder)) === null);
    // It ends once it is loaded, or the database is made.
    const when = `after ${share} of a start of ${startMs} ms`;
    await requireWithin(ms, { msMax: startMs + stopMsMax, loads: 2 }, when);
    await removeDataDir(folder);
  }
});

/** A busy machine takes longer for anything, and not for the same time each time: a load of the program is measured then. */
async function requireWithin(
  ms: number,
  { msMax, loads }: { msMax: number; loads: number },
  what: string,
): Promise<void> {
  const loadMs = ms < msMax ? 0 : await timeOf(() => runCommand(['--help']));
  assert.ok(ms < msMax + loads * loadMs, `${ms} ms ${what}`);
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}

const noSystemd = spawnSync('systemd-analyze', ['--version']).error
  ? 'there is no systemd-analyze on this machine'
  : false;

test('the systemd unit is valid', { skip: noSystemd }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'orgdir-unit-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'orgdir.service');
  const unit = readFileSync(join(root, 'ops/orgdir.service'), 'utf8');
  // It also checks that the program is there.
  writeFileSync(file, unit.replaceAll('/opt/orgdir/', `${root}/`));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', file], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
});
