import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { createMetrics } from '../src/metrics.ts';
import type { RecordedAttempt } from '../src/webhooks/sending/deliver.ts';
import { createRecorder } from '../src/webhooks/queue/recorder.ts';
import { openCuttableDatabase } from './support/cuttable-database.ts';

function attempt(): RecordedAttempt {
  return {
    deliveryId: randomUUID(),
    leaseToken: randomUUID(),
    webhookId: randomUUID(),
    number: 1,
    cycleAttempt: 1,
    trigger: 'event',
    verdict: { kind: 'succeeded' },
    startedAt: new Date(),
    durationMs: 1,
    statusCode: 200,
    error: null,
    responseHeaders: null,
    responseBody: null,
  };
}

test('the recorder waits once for an unavailable database, for all batches', async () => {
  const { opened, cut } = await openCuttableDatabase();
  cut();
  const said: string[] = [];
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      said.push((JSON.parse(String(chunk)) as { msg: string }).msg);
      done();
    },
  });
  const recorder = createRecorder({
    database: opened.database,
    deactivateAfter: 5,
    giveUpAfterMs: 600,
    log: pino({}, output),
    metrics: createMetrics(),
  });
  await Promise.all(Array.from({ length: 1_200 }, () => recorder.record(attempt())));
  assert.deepEqual(
    [said.filter((msg) => msg === 'attempts.waiting').length, said.at(-1)],
    [1, 'attempts.lost'],
  );
  assert.ok(said.filter((msg) => msg === 'attempts.lost').length > 1, 'they were several batches');
});
