/** Each fault is made, and what the process then shows makes its alert fire. Two primaries: `scale/primaries.test.ts`. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { childrenOf } from '../../../harness/processes.ts';
import { overlapSecondsDefault } from '../../src/contract/periods.ts';
import { sql, type Database } from '../../src/database/database.ts';
import { createSecretBox } from '../../src/runtime/secret-box.ts';
import { generateSecret } from '../../src/webhooks/sending/sign.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { fires, noPromtool, scrape } from '../support/alerts.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { endLeases } from '../support/queue-steps.ts';
import { makeKey, startTestService, type TestService } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

const options = { skip: noPromtool };

/** A service of its own, so that what others did before shows in no scrape. */
async function start(more: Parameters<typeof startTestService>[0] = {}) {
  const service = await startTestService(more);
  const internal = await startInternalApi(service);
  return { service, internal, url: internal.url, database: service.database };
}

async function addWebhook(service: TestService, url = 'https://example.org/'): Promise<string> {
  const { body } = await service.call('/webhooks', { method: 'POST', json: { url } });
  return body.data.id as string;
}

/** As a platform does by SQL. */
async function publish(database: Database, data: object): Promise<void> {
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await sql`
    select publish_event('application.created', ${JSON.stringify(data)}::text, 'acme')
  `.execute(database);
}

const application = { id: 'a', applicantHandle: 'ada', submittedAt: '2026-11-20T12:00:00.000Z' };

/** Scrapes until a metric with this beginning has at least this value. */
async function scrapeOnce(url: string, metric: string, least = 1): Promise<Map<string, number>> {
  return scrapeUntil(url, (name, value) => name.startsWith(metric) && value >= least);
}

async function scrapeUntil(
  url: string,
  isShown: (name: string, value: number) => boolean,
): Promise<Map<string, number>> {
  return eventually(async () => {
    const now = await scrape(url);
    return [...now].some(([name, value]) => isShown(name, value)) && now;
  });
}

test('a process that does not respond', options, async () => {
  const { service, url } = await start();
  const before = await scrape(url);
  await service.internalApp.close();
  assert.ok(fires('OrgdirDown', [before, await scrape(url)], 2));
});

test('a database that is away, and requests that fail because of it', options, async () => {
  const { opened, cut } = await openCuttableDatabase(await openTestDatabase());
  const { service, url } = await start({ beside: opened });
  await service.call('/events');
  const before = await scrape(url);
  cut();
  for (let requests = 0; requests < 3; requests += 1) await service.call('/events');
  const during = await scrapeOnce(
    url,
    'orgdir_http_requests_total{operation="listEvents",key="app",status="5xx"',
  );
  // A scrape reads the queue once per second at most.
  const down = await scrapeUntil(
    url,
    (name, value) => name.startsWith('orgdir_database_up') && value === 0,
  );
  assert.ok(fires('OrgdirDatabaseDown', [before, down], 2));
  assert.ok(fires('OrgdirRequestsFail', [before, during], 11));
});

test('a lock that makes reads wait', options, async () => {
  const { service, url, database } = await start();
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const before = await scrape(url);
  let reading: Promise<unknown> = Promise.resolve();
  await database.transaction().execute(async (tx) => {
    await sql`lock table orgs in access exclusive mode`.execute(tx);
    reading = service.call('/orgs/acme');
    // What the alert is about: a read that takes more than a second.
    await sql`select pg_sleep(1.5)`.execute(tx);
  });
  await reading;
  const during = await scrapeOnce(
    url,
    'orgdir_http_request_duration_seconds_count{operation="getOrg"',
  );
  assert.ok(fires('OrgdirReadsSlow', [before, during], 20));
});

test('a lock on the queue', options, async () => {
  const { url, database } = await start();
  const before = await scrape(url);
  await database.transaction().execute(async (tx) => {
    await sql`lock table pending_deliveries in access exclusive mode`.execute(tx);
    const during = await eventually(async () => {
      const now = await scrape(url);
      return ![...now.keys()].some((name) => name.startsWith('orgdir_deliveries_due')) && now;
    });
    // Two minutes, and the five for which promtool goes on with the last value of a series that is gone.
    assert.ok(fires('OrgdirQueueUnknown', [before, during], 8));
    assert.ok(!fires('OrgdirDatabaseDown', [before, during], 3));
  });
});

test('deliveries that nobody sends, and too many of them', options, async () => {
  const { service, url, database } = await start();
  const webhookId = await addWebhook(service);
  const before = await scrape(url);
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, created_at)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', now() - interval '2 minutes', now()
    from generate_series(1, 10000)
  `.execute(database);
  const during = await later(url, before);
  assert.ok(fires('OrgdirDeliveriesLate', [before, during], 6));
  assert.ok(fires('OrgdirBacklog', [before, during], 16));
});

/** A scrape reads the queue once per second at most. */
async function later(url: string, before: Map<string, number>): Promise<Map<string, number>> {
  const queueOf = (all: Map<string, number>) =>
    JSON.stringify(
      [...all].filter(([name]) => /^orgdir_(deliveries|events|rows|retention|keys)_/.test(name)),
    );
  return eventually(async () => {
    const now = await scrape(url);
    return queueOf(now) !== queueOf(before) && now;
  });
}

test('events that nobody distributes', options, async () => {
  const { url, database } = await start();
  const before = await scrape(url);
  await publish(database, application);
  await sql`update published_events set created_at = created_at - interval '2 minutes'`.execute(
    database,
  );
  assert.ok(fires('OrgdirEventsWaiting', [before, await later(url, before)], 6));
});

test('a day that should have been dropped', options, async () => {
  const { service, url, database } = await start();
  const before = await scrape(url);
  await sql`select ensure_partitions(current_date - 40, current_date - 39)`.execute(database);
  // A process looks once per minute, so another one.
  const { url: another } = await start({ beside: service });
  assert.ok(fires('OrgdirRetentionLate', [before, await scrape(another)], 121));
});

test('rows that were set aside, and those that are dropped soon', options, async () => {
  const { url, database } = await start();
  const before = await scrape(url);
  await sql`
    insert into set_aside (source, stage, original, reason, set_aside_at)
    values ('outbox', 'fan-out', '{}', 'a test', queue_now() - interval '29 days 12 hours')
  `.execute(database);
  const during = await later(url, before);
  assert.ok(fires('OrgdirRowsSetAside', [before, during], 1));
  assert.ok(fires('OrgdirRowsSetAsideExpiring', [before, during], 1));
});

test('a worker that dies while it delivers', options, async () => {
  const env = loopbackAllowed;
  const { service, internal, url } = await start({ env });
  const dying = await startProcess('worker', {
    ...env,
    DATABASE_URL: toUrl(service.connection),
    SECRET_KEY: (service.secretKeys[0] ?? Buffer.alloc(0)).toString('base64'),
  });
  const asked = Promise.withResolvers<void>();
  const receiver = await startReceiver(() => asked.resolve());
  await addWebhook(service, receiver.url);
  await internal.call('/orgs/acme', { method: 'PUT', json: { name: 'Acme' } });
  await asked.promise;
  dying.command.signal('SIGKILL');
  await dying.command.ended;
  const before = await scrape(url);
  await endLeases(service.database);
  service.worker.start();
  const during = await scrapeOnce(url, 'orgdir_delivery_leases_recovered_total');
  assert.ok(fires('OrgdirLeasesRecovered', [before, during], 31));
});

test('a worker process that dies again and again while it starts', options, async () => {
  const { connection } = await openTestDatabase();
  const { command, internalUrl } = await startProcess('worker', {
    DATABASE_URL: toUrl(connection),
    SECRET_KEY: randomBytes(32).toString('base64'),
    WORKERS: '2',
  });
  const name = `orgdir_worker_process_ends_total{worker="2",job="orgdir",instance="test"}`;
  const scrapes: Map<string, number>[] = [];
  for (let deaths = 0; deaths <= 3; deaths += 1) {
    scrapes.push(await scrapeUntil(internalUrl, (each, ends) => each === name && ends === deaths));
    const second = await eventually(async () => childrenOf(command.pid)[1]);
    process.kill(second, 'SIGKILL');
  }
  assert.ok(fires('OrgdirWorkerProcessRestarts', scrapes, 2));
});

test('events published by SQL that do not fit the catalogue', options, async () => {
  const { url, database } = await start({ worker: true });
  const before = await scrape(url);
  await publish(database, {});
  const during = await scrapeOnce(url, 'orgdir_events_rejected_total');
  assert.ok(fires('OrgdirEventsRejected', [before, during], 2));
});

test('a webhook whose secret no key decrypts', options, async () => {
  const { service, internal, url, database } = await start({ worker: true });
  const webhookId = await addWebhook(service, 'https://example.org/');
  const before = await scrape(url);
  const secret = createSecretBox([randomBytes(32)]).seal(generateSecret(), webhookId);
  await sql`update webhooks set secret = ${secret} where id = ${webhookId}`.execute(database);
  await internal.call('/orgs/acme', { method: 'PUT', json: { name: 'Acme' } });
  const during = await scrapeOnce(url, 'orgdir_deliveries_unreadable_total');
  assert.ok(fires('OrgdirSecretsUnreadable', [before, during], 1));
});

test('receivers that no connection reaches', options, async () => {
  const { service, url } = await start({ worker: true });
  const webhookId = await addWebhook(service, 'https://nowhere.invalid/');
  const before = await scrape(url);
  await service.call(`/webhooks/${webhookId}/test`, { method: 'POST' });
  const during = await scrapeOnce(url, 'orgdir_delivery_attempts_total{outcome="dns"');
  assert.ok(fires('OrgdirOutgoingNetwork', [before, during], 17));
});

test('many webhooks that are deactivated within an hour', options, async () => {
  const short = { WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' };
  const { service, internal, url } = await start({
    worker: true,
    env: { ...loopbackAllowed, ...short },
  });
  const receiver = await startReceiver((response) => response.writeHead(410).end());
  for (let webhook = 0; webhook < 6; webhook += 1)
    await addWebhook(service, `${receiver.url}${webhook}`);
  const before = await scrape(url);
  await internal.call('/orgs/acme', { method: 'PUT', json: { name: 'Acme' } });
  const during = await scrapeOnce(url, 'orgdir_webhooks_deactivated_total{reason="gone"', 6);
  assert.ok(fires('OrgdirWebhooksDeactivated', [before, during], 1));
});

test('a sync that has never succeeded', options, async () => {
  const { url } = await start({
    env: {
      SYNC_BLUEPRINTS_URL: 'https://example.org/blueprints.ndjson',
      SYNC_BLUEPRINTS_CRON: '0 0 1 1 *',
    },
  });
  const now = await scrape(url);
  assert.ok(fires('OrgdirSyncLate', [now, now], 52 * 60));
});

test('keys in use that expire soon', options, async () => {
  const { service, url } = await start();
  const before = await scrape(url);
  const { key } = await makeKey(service, { expiresAt: new Date(Date.now() + 86_400_000) });
  await service.call('/orgs', { key });
  await service.usage.stop();
  const { url: another } = await start({ beside: service });
  assert.ok(fires('OrgdirKeysExpire', [before, await scrape(another)], 1));
});

test('a rotation whose overlap ends soon', options, async () => {
  const { service, url } = await start();
  const rotate = async (overlapSeconds: number) => {
    const id = await addWebhook(service);
    await service.call(`/webhooks/${id}/rotate-secret`, {
      method: 'POST',
      json: { overlapSeconds },
    });
  };
  // This one has just begun.
  await rotate(overlapSecondsDefault);
  const before = await scrape(url);
  await rotate(3_600);
  // A process looks once per minute, so another one.
  const { url: another } = await start({ beside: service });
  assert.ok(fires('OrgdirSecretsExpire', [before, await scrape(another)], 1));
});
