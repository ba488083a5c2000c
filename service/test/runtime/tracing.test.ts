/** One trace over the processes of an installation, as a collector gets it. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { pino } from 'pino';
import { createPlatformKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { OtlpTracing } from '../../src/runtime/otlp-tracing.ts';
import { stopParts } from '../../src/start/main.ts';
import { testActor } from '../support/actor.ts';
import { countRows } from '../support/count-rows.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import {
  loopbackAllowed,
  startReceiver,
  type Receiver,
  type Respond,
} from '../support/receiver.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

type Value = { stringValue?: string; intValue?: number };
type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: Value }[];
};

const opened = await openTestDatabase();
await put(opened.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const platform = await opened.database
  .transaction()
  .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));
const secretKey = randomBytes(32).toString('base64');
const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${parent.traceId}-${parent.spanId}-01`;

const installation = {
  ...loopbackAllowed,
  DATABASE_URL: toUrl(opened.connection),
  SECRET_KEY: secretKey,
  PUBLIC_URL: testPublicUrl,
  WEBHOOK_RETRY_BASE_MS: '1',
  WEBHOOK_RETRY_FACTOR: '1',
};

const start = (role: 'api' | 'worker', env: Record<string, string>) =>
  startProcess(role, { ...installation, ...env });

async function post(address: string, key: string, json: unknown, headers = {}) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(json),
  });
  assert.equal(response.status, 201);
  return ((await response.json()) as any).data;
}

const publish = (internalUrl: string, headers = {}) =>
  post(
    `${internalUrl}/internal/v1/events`,
    platform.key,
    { event: 'org.created', org: 'acme' },
    headers,
  );

const spansOf = ({ received }: Receiver): Span[] =>
  received.flatMap(({ path, body }) => {
    assert.equal(path, '/v1/traces');
    const { resourceSpans } = JSON.parse(body.toString());
    return resourceSpans.flatMap(({ scopeSpans }: any) =>
      scopeSpans.flatMap(({ spans }: any) => spans as Span[]),
    );
  });

const attribute = (span: Span, name: string) =>
  span.attributes.find(({ key }) => key === name)?.value;

test('request, event, delivery and attempts are one trace over processes', async () => {
  const collector = await startReceiver();
  const receiver = await startReceiver((response, _received, count) =>
    response.writeHead(count === 1 ? 500 : 200).end(),
  );
  const { origin } = new URL(collector.url);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: origin, OTEL_SERVICE_NAME: 'directory' };
  const [api, worker] = await Promise.all([start('api', env), start('worker', env)]);
  const { key } = await makeKey(opened);
  await fetch(`${api.url}/api/v1/orgs`, { method: 'PROPFIND' });
  // Events that SQL publishes, and tests of a webhook, are traced too.
  const other = await startReceiver();
  const tested = await post(`${api.url}/api/v1/webhooks`, key, { url: other.url });
  await sql`select orgdir.publish_event('org.created', null, 'acme')`.execute(opened.database);
  await other.waitFor(1);
  const response = await fetch(`${api.url}/api/v1/webhooks/${tested.id}/test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(response.status, 200);
  await fetch(`${api.url}/api/v1/webhooks/${tested.id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  });
  const secretUrl = `${receiver.url}?token=hunter2`;
  const webhook = await post(
    `${api.url}/api/v1/webhooks`,
    key,
    { url: secretUrl },
    { traceparent },
  );
  const event = await publish(api.internalUrl, { traceparent });
  const [first, second] = await receiver.waitFor(2);
  await eventually(async () => (await countRows(opened.database, sql`pending_deliveries`)) === 0);
  for (const { command } of [api, worker]) {
    command.signal('SIGTERM');
    await command.ended;
  }

  const all = spansOf(collector);
  const byName = (name: string) => all.filter((span) => span.name === name);
  const [request] = byName('POST /internal/v1/events');
  const within = (name: string) => byName(name).filter(({ traceId }) => traceId === parent.traceId);
  const [recorded] = within('event org.created');
  const [delivery] = within('delivery org.created');
  const attempts = within('attempt org.created');
  assert.ok(request && recorded && delivery);
  assert.equal(request.parentSpanId, parent.spanId);
  assert.equal(recorded.parentSpanId, request.spanId);
  assert.equal(delivery.parentSpanId, recorded.spanId);
  assert.deepEqual(
    attempts.map((span) => [span.parentSpanId, attribute(span, 'http.response.status_code')]),
    [
      [delivery.spanId, { intValue: 500 }],
      [delivery.spanId, { intValue: 200 }],
    ],
  );
  assert.equal(request.traceId, parent.traceId);
  assert.deepEqual(
    [first, second].map((one) => one?.headers['traceparent']),
    attempts.map(({ spanId }) => `00-${parent.traceId}-${spanId}-01`),
  );
  assert.deepEqual(attribute(recorded, 'orgdir.event.id'), { stringValue: event.id });
  assert.deepEqual(attribute(delivery, 'orgdir.webhook.id'), { stringValue: webhook.id });

  const [odd] = byName('HTTP /api/v1/orgs');
  assert.ok(odd);
  assert.deepEqual(
    ['http.request.method', 'http.request.method_original'].map((name) => attribute(odd, name)),
    [{ stringValue: '_OTHER' }, { stringValue: 'PROPFIND' }],
  );

  const registrations = byName('POST /api/v1/webhooks');
  assert.equal(registrations.length, 2);
  for (const { traceId } of registrations)
    assert.notEqual(traceId, parent.traceId, 'a stranger cannot join a trace');

  const pathTo = (spanId: string | undefined): string[] => {
    const span = all.find((each) => each.spanId === spanId);
    return span ? [...pathTo(span.parentSpanId), span.name] : [];
  };
  assert.deepEqual(
    other.received.map(({ headers }) => pathTo(headers['traceparent']?.split('-')[2])),
    [
      ['event org.created', 'delivery org.created', 'attempt org.created'],
      [
        'POST /api/v1/webhooks/:id/test',
        'event webhook.test',
        'delivery webhook.test',
        'attempt webhook.test',
      ],
    ],
  );

  const sent = collector.received.map(({ body }) => body.toString()).join('');
  assert.match(sent, /"directory"/);
  for (const secret of ['hunter2', key, platform.key, '127.0.0.1', '@example.org'])
    assert.ok(!sent.includes(secret), secret);
});

test('without a collector, receivers get the trace context of the publisher, or none', async () => {
  const receiver = await startReceiver();
  const service = await startTestService({
    beside: { ...opened, secretKeys: [Buffer.from(secretKey, 'base64')] },
    env: loopbackAllowed,
    worker: true,
  });
  const internalUrl = await service.internalApp.listen({ host: '127.0.0.1', port: 0 });
  await post(`${service.url}/api/v1/webhooks`, service.key, { url: receiver.url });
  const headers = [{ traceparent }, { traceparent: 'nonsense' }, {}];
  for (const [index, each] of headers.entries()) {
    await publish(internalUrl, each);
    await receiver.waitFor(index + 1);
  }
  assert.deepEqual(
    receiver.received.map((one) => one.headers['traceparent']),
    [traceparent, undefined, undefined],
  );
  await stopParts(service);
});

const refuse: Respond = (response) => response.writeHead(404).end();

test('a collector that refuses all spans does not fill the log', async () => {
  const collector = await startReceiver(refuse);
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const tracing = new OtlpTracing({ endpoint: new URL(collector.url).origin, ratio: 1 }, log);
  // More than two requests take.
  for (let count = 0; count < 1_200; count += 1)
    tracing.recordEvent('org.created').end(randomUUID());
  await collector.waitFor(2);
  await tracing.stop();
  assert.equal(lines.length, 1, lines.join(''));
  assert.match(lines[0] ?? '', /"traces.failed"/);
});

test('a collector that refuses spans, and then does not respond, delays nothing', async () => {
  const collector = await startReceiver((response, received, count) => {
    if (count === 1) return refuse(response, received, count);
  });
  const receiver = await startReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: new URL(collector.url).origin };
  const both = await Promise.all([start('api', env), start('worker', env)]);
  const { key } = await makeKey(opened);
  await post(`${both[0].url}/api/v1/webhooks`, key, { url: receiver.url });
  await publish(both[0].internalUrl);
  await receiver.waitFor(1);
  for (const { command } of both) {
    command.signal('SIGTERM');
    assert.deepEqual(await command.ended, { code: 0, signal: null });
  }
  assert.ok(collector.received.length > 1);
});
