/** The log of a separate process: all lines are written, in order, soon, however the process ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const logUrl = new URL('../../src/runtime/log.ts', import.meta.url).href;

function start(script: string) {
  const whole = `import { createLogger } from '${logUrl}'; const log = createLogger('info'); ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', whole], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout.setEncoding('utf8');
  return child;
}

async function linesOf(script: string): Promise<{ n: number }[]> {
  const child = start(script);
  let text = '';
  child.stdout.on('data', (chunk: string) => (text += chunk));
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

test('a single log line is flushed while the process runs', async () => {
  const child = start(`${logAll(1)} setInterval(() => {}, 1000);`);
  const [chunk] = (await once(child.stdout, 'data')) as [string];
  assert.equal((JSON.parse(chunk) as { n: number }).n, 0);
  child.kill('SIGKILL');
});
