/** The log of a separate process: all lines are written, in order, soon, however the process ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { pino } from 'pino';
import { logAttempt } from '../src/webhooks/sending/attempt-log.ts';

const logUrl = new URL('../src/log.ts', import.meta.url).href;

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

test("the log line of an attempt equals pino's", () => {
  const lines: string[] = [];
  const log = pino(
    { base: { pid: 1 }, timestamp: () => ',"time":"then"', redact: ['*.secret'] },
    { write: (line: string) => lines.push(line) },
  ).child({ loop: 'claim' });
  const delivery = {
    id: '0198f2a4-5b7c-7d3e-9f10-000000000001',
    leaseToken: '0198f2a4-5b7c-7d3e-9f10-000000000002',
    webhookId: '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f',
    event: 'org.created',
    trigger: 'redelivery',
    number: 7,
    cycleAttempt: 1,
    url: 'https://[2001:db8::1]:8443/hook?token=hunter2',
    secret: Buffer.alloc(0),
    previousSecret: null,
    failing: false,
    eventCreatedAt: new Date(),
    data: '{}',
  } as const;
  const answer = {
    startedAt: new Date(),
    retryAfter: null,
    responseHeaders: null,
    responseBody: null,
    durationMs: 12,
  };
  const { id, webhookId, event, trigger, number } = delivery;
  const cases = [
    { statusCode: 200, error: null, verdict: 'succeeded' },
    { statusCode: null, error: 'timeout', verdict: 'retry' },
  ] as const;
  for (const { statusCode, error, verdict } of cases) {
    logAttempt(log, delivery, { ...answer, statusCode, error }, verdict);
    const host = '[2001:db8::1]:8443';
    log.info(
      {
        deliveryId: id,
        webhookId,
        event,
        trigger,
        host,
        attempt: number,
        statusCode,
        error,
        durationMs: 12,
        verdict,
      },
      'delivery.attempted',
    );
    const [byHand, byLogger] = lines.splice(0);
    assert.equal(byHand, byLogger);
  }
});

test('the level can disable the log line of attempts', () => {
  const log = pino({ level: 'warn' }, { write: () => assert.fail('a line') });
  const none = {} as never;
  logAttempt(log, none, none, 'succeeded');
});
