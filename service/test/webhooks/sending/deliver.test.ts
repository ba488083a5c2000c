/** Tests one delivery from claim to verdict: its log line, invalid addresses and unreadable keys. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { loadConfig } from '../../../src/settings/config.ts';
import { sql } from '../../../src/database/database.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createSender } from '../../../src/webhooks/sending/attempt.ts';
import { systemClock } from '../../../src/webhooks/sending/clock.ts';
import { maskUrl, urlOwner } from '../../../src/webhooks/sending/chat-platforms.ts';
import { deliver } from '../../../src/webhooks/sending/deliver.ts';
import type { Deliverable } from '../../../src/webhooks/sending/deliverable.ts';
import { createSecretBox } from '../../../src/runtime/secret-box.ts';
import { generateSecret } from '../../../src/webhooks/sending/sign.ts';
import { headersOwner, sealedText } from '../../../src/webhooks/sending/own-headers.ts';
import { createSigningKeys } from '../../../src/webhooks/sending/signing-keys.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const { webhooks } = loadConfig(loopbackAllowed);
const sender = createSender(webhooks);
after(() => sender.close());
const box = createSecretBox([randomBytes(32)]);
const webhookId = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';

function prepare(secretBox = box) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = pino({ base: {} }, { write });
  const dependencies = {
    sender,
    webhooks,
    signingKeys: createSigningKeys(secretBox),
    clock: systemClock,
    metrics: createMetrics(),
    serviceName: 'Service',
    version: '0',
    log,
    attemptLog: log,
  };
  return { dependencies, lines };
}

function deliverable(url: string, more: Partial<Deliverable> = {}): Deliverable {
  return {
    id: '0198f2a4-5b7c-7d3e-9f10-000000000001',
    leaseToken: '0198f2a4-5b7c-7d3e-9f10-000000000002',
    traceparent: null,
    leaseEndsAt: Infinity,
    webhookId,
    owner: 'owner@example.org',
    latencyMs: null,
    eventId: '0198f2a4-5b7c-7d3e-9f10-000000000003',
    event: 'org.created',
    trigger: 'event',
    number: 1,
    cycleAttempt: 1,
    createdAtMs: Date.now(),
    url,
    secret: box.seal(generateSecret(), webhookId),
    previousSecret: null,
    ownHeaders: null,
    chat: null,
    eventCreatedAt: new Date().toISOString(),
    data: '{"secret":"hunter2"}',
    ...more,
  };
}

test('the log line of an attempt has exactly its fields', async () => {
  const receiver = await startReceiver((response) => response.writeHead(500).end('hunter2'));
  const { dependencies, lines } = prepare();
  await deliver(dependencies, deliverable(`${receiver.url}?token=hunter2`));
  const [{ time, durationMs, ...line } = {}] = lines;
  assert.equal(typeof time, 'number');
  assert.equal(typeof durationMs, 'number');
  assert.deepEqual(line, {
    level: 30,
    msg: 'delivery.attempted',
    deliveryId: '0198f2a4-5b7c-7d3e-9f10-000000000001',
    webhookId,
    event: 'org.created',
    trigger: 'event',
    host: new URL(receiver.url).host,
    attempt: 1,
    statusCode: 500,
    error: null,
    verdict: 'retry',
  });
  assert.doesNotMatch(JSON.stringify(lines), /hunter2/);
});

test('an invalid address is a failed attempt', async () => {
  const { dependencies, lines } = prepare();
  const attempt = await deliver(dependencies, deliverable('no address'));
  assert.deepEqual([attempt.error, attempt.verdict.kind], ['connect', 'retry']);
  assert.equal(lines[0]?.['host'], '');
});

test('an unreadable secret is logged once per webhook, and its deliveries wait', async () => {
  const { dependencies, lines } = prepare(createSecretBox([randomBytes(32)]));
  const other = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e80';
  for (const one of [webhookId, webhookId, other, webhookId]) {
    const { verdict } = await deliver(
      dependencies,
      deliverable('https://example.org/', { webhookId: one }),
    );
    assert.deepEqual(verdict, { kind: 'postponed', waitMs: 0, park: true });
  }
  assert.deepEqual(
    lines.map((line) => [line['msg'], line['webhookId']]),
    [
      ['secret.unreadable', webhookId],
      ['secret.unreadable', other],
    ],
  );
});

test('headers of the owner that cannot be read postpone a delivery, as a secret does', async () => {
  const { dependencies, lines } = prepare();
  // Another one: those before have been logged.
  const id = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e81';
  const secret = box.seal(generateSecret(), id);
  const ownHeaders = createSecretBox([randomBytes(32)]).seal('{}', id);
  const { verdict } = await deliver(
    dependencies,
    deliverable('https://example.org/', { webhookId: id, secret, ownHeaders }),
  );
  assert.deepEqual(verdict, { kind: 'postponed', waitMs: 0, park: true });
  assert.equal(lines[0]?.['msg'], 'secret.unreadable');
});

test('headers of the owner replace none of the service, and go only to the origin they were set for', async () => {
  const receiver = await startReceiver();
  const { dependencies } = prepare();
  const seal = (url: string) =>
    box.seal(
      sealedText({ 'x-service-event': 'forged', 'X-Key': 'mine' }, url),
      headersOwner(webhookId),
    );
  // A process of 1.0.0 may have moved the second webhook.
  for (const url of [`${receiver.url}/other`, 'https://example.org/'])
    await deliver(dependencies, deliverable(receiver.url, { ownHeaders: seal(url) }));
  assert.deepEqual(
    receiver.received.map(({ headers }) => [headers['x-service-event'], headers['x-key']]),
    [
      ['org.created', 'mine'],
      ['org.created', undefined],
    ],
  );
});

test('texts that this release does not have are logged once, and their deliveries are postponed', async () => {
  const { dependencies, lines } = prepare();
  const url = 'https://discord.com/api/webhooks/123/abc';
  const gate = { now: 0, openAt: 0, closedSince: null };
  const sealedUrl = box.seal(url, urlOwner(webhookId));
  // Of no other test in this process, which tells of each once a minute.
  const template = 998;
  const chat = { format: 'discord', sealedUrl, template, gate } as const;
  for (let look = 0; look < 2; look += 1) {
    const { verdict } = await deliver(dependencies, deliverable(maskUrl(url), { chat }));
    assert.deepEqual(verdict, { kind: 'postponed', waitMs: 300_000, park: false });
  }
  const createdAtMs = Date.now() - 25 * 3_600_000;
  const old = await deliver(dependencies, deliverable(maskUrl(url), { chat, createdAtMs }));
  assert.deepEqual(old.verdict, { kind: 'given_up' });
  assert.deepEqual(
    lines.map((line) => [line['msg'], line['webhookId'], line['template']]),
    [['template.unknown', webhookId, template]],
  );
});

test('how long a secret could not be read is counted from the first look, and anew once it could', async () => {
  const id = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e82';
  const secret = box.seal(generateSecret(), id);
  let now = Date.now();
  const look = async (secretBox: typeof box) => {
    const clock = { ...systemClock, now: () => new Date(now) };
    const { dependencies } = prepare(secretBox);
    const delivery = deliverable('no address', { webhookId: id, secret });
    const { verdict, unreadableForMs } = await deliver({ ...dependencies, clock }, delivery);
    return [verdict.kind, unreadableForMs];
  };
  const keyless = createSecretBox([randomBytes(32)]);
  assert.deepEqual(await look(keyless), ['postponed', 0]);
  now += 60_000;
  assert.deepEqual(await look(keyless), ['postponed', 60_000]);
  assert.deepEqual(await look(box), ['retry', undefined], 'with the key');
  assert.deepEqual(await look(keyless), ['postponed', 0], 'and without it again');
});

test('a test with an unreadable secret fails without leaving a delivery', async () => {
  const service = await startTestService();
  const json = { url: 'https://example.org/' };
  const { body } = await service.call('/webhooks', { method: 'POST', json });
  const { database, connection, key } = service;
  const keyless = await startTestService({ beside: { database, connection } });
  const answer = await keyless.call(`/webhooks/${body.data.id}/test`, { method: 'POST', key });
  assert.deepEqual([answer.status, answer.body.error.code], [503, 'unavailable']);
  assert.equal(answer.headers.get('retry-after'), '300', 'when the worker tries its deliveries');
  const { rows } = await sql<{ left: number }>`
    select (select count(*) from events) + (select count(*) from pending_deliveries)
      + (select count(*) from deliveries) as left
  `.execute(database);
  assert.deepEqual(rows, [{ left: 0 }]);
});
