/** The table in the README says how long calls wait as the constants do. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { defaultRetries, defaultTimeoutMs } from '../src/connection.ts';
import { beginMsMax, silenceMsMax } from '../src/event-stream.ts';
import { defaultPatienceMs } from '../src/events.ts';
import { backoffMaxMs, defaultPollMs, retryAfterMaxMs } from '../src/mirror.ts';
import { NetworkError } from '../src/network-error.ts';
import { retryAfterMaxSeconds, retryWaitMs, spreadMs } from '../src/retry.ts';
import { testTimeoutMs } from '../src/webhooks.ts';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
const [, table = ''] = /## How long a call waits\n(.*?)\n## /s.exec(readme) ?? [];

/** All numbers of a row's cells, in their order. */
function numbersOf(call: string): number[][] {
  const row = table.split('\n').find((line) => line.startsWith(`| ${call}`)) ?? '';
  const [, ...cells] = row.split('|').slice(1, -1);
  return cells.map((cell) =>
    Array.from(cell.replaceAll(/`[^`]*`|after 429/g, '').matchAll(/[\d,]+(?=[ ,]|$)/g), ([text]) =>
      Number(text.replaceAll(',', '')),
    ).filter((number) => number > 0),
  );
}

const seconds = (milliseconds: number) => Math.ceil(milliseconds / 1000);
const failure = new NetworkError('cut');
const backoffsMs = Array.from(
  { length: defaultRetries },
  (_, index) =>
    retryWaitMs({
      isIdempotent: true,
      failure,
      attempts: index + 1,
      retries: defaultRetries,
      random: 1,
    }) ?? 0,
);
const retryAfterMs = defaultRetries * (retryAfterMaxSeconds * 1000 + spreadMs);
const totalMs = (timeoutMs: number, waitsMs: number) =>
  seconds((defaultRetries + 1) * timeoutMs + waitsMs);
const attempt = seconds(defaultTimeoutMs);
const pausesMs = backoffsMs.reduce((sum, each) => sum + each, 0);

test('the attempts, retries and totals of calls in the README are those of the constants', () => {
  const longest = totalMs(defaultTimeoutMs, retryAfterMs);
  assert.deepEqual(numbersOf('`status`'), [
    [attempt],
    [defaultRetries],
    [totalMs(defaultTimeoutMs, pausesMs), longest],
  ]);
  assert.deepEqual(numbersOf('other methods'), [[attempt], [defaultRetries], [attempt, longest]]);
  assert.deepEqual(numbersOf('`webhooks.test`'), [
    [seconds(testTimeoutMs)],
    [defaultRetries],
    [seconds(testTimeoutMs), totalMs(testTimeoutMs, retryAfterMs)],
  ]);
});

test('so are the times of downloads, streams and mirrors', () => {
  assert.deepEqual(numbersOf('`download`'), [[attempt, attempt], [defaultRetries], []]);
  assert.deepEqual(numbersOf('`events.follow`'), [
    [seconds(beginMsMax), seconds(silenceMsMax)],
    [seconds(defaultPatienceMs)],
    [],
  ]);
  assert.deepEqual(numbersOf('`mirror`'), [
    [],
    [seconds(defaultPollMs), seconds(backoffMaxMs), seconds(retryAfterMaxMs)],
    [],
  ]);
});
