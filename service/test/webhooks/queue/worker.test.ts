import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { loadConfig } from '../../../src/settings/config.ts';
import { createChangesAnnouncer } from '../../../src/directory/announce.ts';
import {
  dropOldEntryChanges,
  foldEntryChanges,
} from '../../../src/directory/fold-entry-changes.ts';
import { ingestPublished } from '../../../src/directory/ingest-published.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createSender } from '../../../src/webhooks/sending/attempt.ts';
import { createDatabaseClock } from '../../../src/database/clock.ts';
import { Room } from '../../../src/webhooks/queue/dispatch/room.ts';
import { createSecretBox } from '../../../src/runtime/secret-box.ts';
import { createSigningKeys } from '../../../src/webhooks/sending/signing-keys.ts';
import { createWorker, type Worker } from '../../../src/webhooks/queue/worker.ts';
import type { TestDatabase } from '../../support/database.ts';
import { openCuttableDatabase } from '../../support/cuttable-database.ts';
import { announce, put } from '../../support/directory.ts';
import { endedDelivery, eventually } from '../../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService, testPublicUrl } from '../../support/service.ts';
import { sql } from '../../../src/database/database.ts';
import { Session } from '../../../src/database/session.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database, connection } = service;
const { webhooks } = loadConfig(loopbackAllowed);
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

type Line = { msg: string; loop?: string; failures?: number; reason?: string; err?: unknown };

function startWorker(
  on: Pick<TestDatabase, 'connection'>,
  signingKeys = keysOf(service.secretBox),
) {
  const lines: Line[] = [];
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(String(chunk)) as Line);
      output.emit('line');
      done();
    },
  });
  const sender = createSender(webhooks);
  const log = pino({ level: 'info' }, output);
  const worker = createWorker({
    connection: on.connection,
    session: new Session(on.connection),
    sender,
    webhooks,
    room: new Room(webhooks),
    signingKeys,
    clock: createDatabaseClock(),
    leaseMs: webhooks.timeoutMs + webhooks.leaseMarginMs,
    metrics: createMetrics(),
    serviceName: 'Service',
    version: '0',
    retentionDays: 30,
    ingestPublished: (queue) => ingestPublished(queue, testPublicUrl),
    entryChanges: {
      fold: foldEntryChanges,
      announce: createChangesAnnouncer(testPublicUrl, log),
      dropOld: dropOldEntryChanges,
    },
    log,
    attemptLog: log,
  });
  const logged = async (found: (lines: Line[]) => boolean) => {
    while (!found(lines)) await once(output, 'line');
  };
  return { worker: closing(worker, sender), lines, logged };
}

function closing(worker: Worker, sender: { close(): Promise<void> }): Worker {
  return {
    ...worker,
    stop: async () => {
      await worker.stop();
      await sender.close();
    },
  };
}

const keysOf = (box: ReturnType<typeof createSecretBox>) => createSigningKeys(box);

async function register(url: string): Promise<string> {
  const { body } = await service.call('/webhooks', { method: 'POST', json: { url } });
  return body.data.id;
}

const publish = () => announce(database);

test('a worker logs an unavailable database once, and recovers by itself', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  const behind = await openCuttableDatabase({ database, connection });
  const { worker, lines, logged } = startWorker(behind.opened);
  worker.start();
  behind.cut();
  const failed = (loop: string) =>
    lines.filter((line) => line.msg === 'worker.failed' && line.loop === loop);
  await logged(() => ['look', 'leases', 'join'].every((loop) => failed(loop).length >= 2));
  // The first failure, the second, the fourth: an outage does not fill the log.
  for (const loop of ['look', 'leases', 'join']) {
    const [first, second] = failed(loop);
    assert.deepEqual([first?.failures, second?.failures], [1, 2]);
    assert.equal(typeof first?.reason, 'string', 'in words, without a stack');
  }
  await publish();
  behind.mend();
  await receiver.waitFor(1);
  assert.equal((await endedDelivery({ database }, webhook)).status, 'succeeded');
  await logged(() => lines.some((line) => line.msg === 'worker.recovered'));
  await worker.stop();
});

test('after a lost connection, events of earlier transaction ids are found too', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  const behind = await openCuttableDatabase({ database, connection });
  const { worker, logged } = startWorker(behind.opened);
  worker.start();
  await publish();
  await receiver.waitFor(1);
  await endedDelivery({ database }, webhook);
  behind.cut();
  await logged((lines) => lines.some((line) => line.msg === 'worker.failed'));
  // A server that crashed uses the ids again of transactions that left nothing on its disk.
  await publish();
  await sql`update outbox set xid = '3'`.execute(database);
  behind.mend();
  await receiver.waitFor(2);
  await worker.stop();
});

test('a stop ends while the database is unavailable, and sent deliveries are sent again rather than lost', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  const behind = await openCuttableDatabase({ database, connection });
  const { worker, logged } = startWorker(behind.opened);
  receiver.respond = (response) => {
    behind.cut();
    response.end();
  };
  worker.start();
  await publish();
  await receiver.waitFor(1);
  await logged((lines) => lines.some((line) => line.msg === 'attempts.waiting'));
  await worker.stop();
  const { rows } = await sql<{ leased: boolean }>`
    select p.lease_token is not null as leased from pending_deliveries p where p.webhook_id = ${webhook}
  `.execute(database);
  assert.deepEqual(rows, [{ leased: true }], 'its lease runs out, and the next worker tries again');
  await sql`delete from webhooks where id = ${webhook}`.execute(database);
});

test('an unreadable secret sends nothing and uses up no attempt', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  const { worker, logged } = startWorker(service, keysOf(createSecretBox([Buffer.alloc(32, 1)])));
  worker.start();
  await publish();
  await logged((lines) => lines.some((line) => line.msg === 'secret.unreadable'));
  const waiting = () =>
    eventually(async () => {
      const { rows } = await sql<{ attempt_count: number }>`
        select attempt_count from pending_deliveries
        where webhook_id = ${webhook} and parked
      `.execute(database);
      return rows[0];
    });
  assert.deepEqual(await waiting(), { attempt_count: 0 });
  await worker.stop();
  assert.equal(receiver.received.length, 0);
  // With its key again, what waited is sent.
  const healed = startWorker(service);
  healed.worker.start();
  await receiver.waitFor(1);
  assert.equal((await endedDelivery({ database }, webhook)).status, 'succeeded');
  await healed.worker.stop();
});

test('with a new secret, a webhook that could not be read gets the next event, and what waited', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  const { rows } = await sql<{ secret: Buffer }>`
    update webhooks w set secret = 'of no key' from webhooks before
    where w.id = ${webhook} and before.id = w.id returning before.secret
  `.execute(database);
  await announce(database);
  const { worker } = startWorker(service);
  worker.start();
  await eventually(async () => {
    const parked = await sql`
      select from pending_deliveries where webhook_id = ${webhook} and parked
    `.execute(database);
    return parked.rows.length === 1;
  });
  await sql`update webhooks set secret = ${rows[0]?.secret} where id = ${webhook}`.execute(
    database,
  );
  await announce(database);
  await receiver.waitFor(2);
  await worker.stop();
});

test('a webhook that cannot be read is looked at once, however much waits for it', async () => {
  const receiver = await startReceiver();
  const webhook = await register('https://example.org');
  await register(receiver.url);
  await sql`update webhooks set secret = 'of no key' where id = ${webhook}`.execute(database);
  const eventId = await announce(database);
  const { worker, logged } = startWorker(service);
  worker.start();
  await logged((lines) => lines.some((line) => line.msg === 'secret.unreadable'));
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked)
    select uuid_v7(), ${eventId}, 'org.created', ${webhook}, 'event', queue_now() - interval '1 hour', true
    from generate_series(1, 100)
  `.execute(database);
  // Each goes to both: what was parked is known with it.
  for (let count = 2; count <= 4; count += 1) {
    await announce(database);
    await receiver.waitFor(count);
  }
  const { rows } = await sql<{ untouched: number }>`
    select count(*)::int as untouched from pending_deliveries
    where webhook_id = ${webhook} and due_at < queue_now() - interval '50 minutes'
  `.execute(database);
  assert.deepEqual(rows, [{ untouched: 100 }]);
  await worker.stop();
});

test('a webhook whose row is locked keeps back no replay of another one', async () => {
  const [locked, free] = [
    await register('https://example.org'),
    await register('https://example.org'),
  ];
  assert.ok(locked < free, 'the locked one comes first');
  await sql`
    insert into webhook_healing (webhook_id, replay_since) select id, now() from webhooks where id in (${locked}, ${free})
  `.execute(database);
  const { worker, logged } = startWorker(service);
  await database.transaction().execute(async (tx) => {
    await sql`select from webhooks where id = ${locked} for no key update`.execute(tx);
    worker.start();
    await logged((lines) => lines.some(({ msg }) => msg === 'replay.failed'));
    const replayed = () =>
      sql`
      select from webhook_healing where webhook_id = ${free} and replay_since is null
    `.execute(database);
    await eventually(async () => (await replayed()).rows.length === 1);
  });
  await worker.stop();
});
