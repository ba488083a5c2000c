/** The log of a separate process: all lines are written, in order, soon, however the process ends. */
import assert from 'node:assert/strict';
import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';

const logUrl = new URL('../../src/runtime/log.ts', import.meta.url).href;

const noFullDisk = !existsSync('/dev/full') && 'there is no /dev/full';

function start(script: string, stdio: StdioOptions = ['ignore', 'pipe', 'ignore']) {
  const whole = `import { createLogger } from '${logUrl}'; const log = createLogger('info'); ${script}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', whole], { stdio });
}

async function linesOf(script: string): Promise<{ n: number }[]> {
  const child = start(script);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(child, 'close');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { n: number });
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const logAll = (count: number) => `for (let n = 0; n < ${count}; n += 1) log.info({ n }, 'line');`;

for (const [end, script] of [
  ['runs out of work', ''],
  ['is told to exit', 'process.exit(0);'],
  ['fails', `throw new Error('a bug');`],
])
  test(`a process that ${end} has written all its lines, in order`, async () => {
    const lines = await linesOf(logAll(20_000) + script);
    assert.deepEqual(
      lines.map(({ n }) => n),
      numbers(20_000),
    );
  });

test('a process whose log goes to a full disk goes on', { skip: noFullDisk }, async () => {
  const full = openSync('/dev/full', 'w');
  const script = `${logAll(1)} setTimeout(() => { log.info('another'); setTimeout(() => process.send('on'), 300); }, 300);`;
  const child = start(script, ['ignore', full, 'pipe', 'ipc']);
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [message] = (await once(child, 'message')) as [string];
  assert.equal(message, 'on');
  child.disconnect();
  assert.deepEqual(await once(child, 'exit'), [0, null], errors);
  closeSync(full);
});

test('a single log line is flushed while the process runs', async () => {
  const child = start(`${logAll(1)} setInterval(() => {}, 1000);`);
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
  assert.equal((JSON.parse(String(chunk)) as { n: number }).n, 0);
  child.kill('SIGKILL');
});
