/** Each documented way of starting ends when the process that was started gets SIGTERM, and nobody else. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { embeddedOnly, isAlive, newDataDir, removeDataDir, serverPid } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';

const root = join(import.meta.dirname, '../../..');
const options = { timeout: 300_000, skip: embeddedOnly };
const dataDir = await newDataDir();
after(() => removeDataDir(dataDir));

for (const [command, ...args] of [
  ['npm', 'start', '--', '--no-demo'],
  ['npx', 'orgdir', 'serve', '--no-demo'],
  ['npx', '--call', 'orgdir serve --no-demo'],
  ['node_modules/.bin/orgdir', 'serve', '--no-demo'],
] as [string, ...string[]][])
  test(`SIGTERM to ${[command, ...args].join(' ')} stops the service`, options, async () => {
    const child = spawn(command, args, {
      cwd: root,
      env: {
        PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
        HOME: process.env['HOME'],
        DATA_DIR: dataDir,
        PORT: '0',
        INTERNAL_PORT: '0',
        WORKERS: '2',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const output = { text: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.text += text));
    const closed = once(child, 'close');
    after(() => isAlive(-(child.pid ?? 0)) && process.kill(-(child.pid ?? 0), 'SIGKILL'));
    await eventually(
      async () => output.text.includes('"service.started"') || child.exitCode !== null,
    );
    const pid = Number(/"pid":(\d+)[^\n]*"service\.started"/.exec(output.text)?.[1]);
    assert.ok(isAlive(pid), output.text);
    assert.notEqual(await serverPid(dataDir), null);
    child.kill('SIGTERM');
    // Its output closes when the last process of it has ended.
    await closed;
    assert.match(output.text, /"service\.stopped"/);
    assert.equal(await serverPid(dataDir), null);
  });

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
