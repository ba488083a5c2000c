/**
 * Tests which of several processes goes on with a channel when its platform may be called again, and what it costs to
 * remember that.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { openDatabase, sql } from '../../../src/database/database.ts';
import { ChatLimits } from '../../../src/webhooks/queue/dispatch/chat-limits.ts';
import { Room } from '../../../src/webhooks/queue/dispatch/room.ts';
import { queueSettings } from '../../../src/webhooks/queue/worker.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import { pagesOf } from '../../support/pages.ts';

const { database, connection } = await openTestDatabase();
const log = pino({ level: 'silent' });
const webhookId = '0198f2a4-5b7c-7d3e-9f10-00000000000a';
const url = 'https://discord.com/…';

test('the process that was answered looks when the channel opens, and the others later', async (t) => {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const start = (workers: number) => {
    const room = new Room({ timeoutMs: 10_000 });
    room.setShare(0, workers);
    room.release(room.take({ webhookId, owner: '', url, latencyMs: 1 }));
    const limits = new ChatLimits({ database, room, log });
    /** After an attempt that was answered so, or a look that found the channel closed for so long. */
    const keep = (answeredMs: number | null, closedMs: number) => {
      const gate = { now: 0, openAt: closedMs, closedSince: null };
      const chat = { format: 'discord', sealedUrl: Buffer.alloc(0), template: 1, gate } as const;
      const answer = { limited: false, gone: false, platformMs: 0, invalid: false };
      const attempt = answeredMs === null ? {} : { answer: { ...answer, webhookMs: answeredMs } };
      const delivery = { webhookId, url, chat } as Parameters<ChatLimits['keep']>[0];
      return limits.keep(delivery, { ...attempt, verdict: { kind: 'succeeded' } });
    };
    /** For how many milliseconds it is left alone. */
    const waits = () => {
      const from = now;
      while (room.isClosed(webhookId)) now += 10;
      return now - from;
    };
    return { keep, waits };
  };

  const answered = start(2);
  await answered.keep(500, 0);
  assert.equal(answered.waits(), 500);
  await answered.keep(null, 20);
  assert.equal(answered.waits(), 20, 'the others were told a moment later');
  await answered.keep(null, 500);
  assert.equal(answered.waits(), 5_500, 'another one was answered meanwhile');
  await answered.keep(null, 20);
  assert.equal(answered.waits(), 5_020);

  const other = start(2);
  await other.keep(null, 20);
  assert.equal(other.waits(), 5_020);
  await other.keep(null, -20);
  assert.equal(other.waits(), 0, 'it is open');
  await other.keep(500, -20);
  assert.equal(other.waits(), 500, 'and goes on here now');

  const alone = start(1);
  await alone.keep(null, 500);
  assert.equal(alone.waits(), 500, 'nobody else goes on');
});

test('a delivery that failed for want of a text takes none of the others along', async () => {
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at, parked)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', queue_now() - interval '2 days', queue_now(), true
    from generate_series(1, 2)
  `.execute(database);
  const pending = () => countRows(database, sql`pending_deliveries`);
  const limits = new ChatLimits({ database, room: new Room({ timeoutMs: 10_000 }), log });
  for (const [openAt, left] of [
    [0, 2],
    [2_000, 0],
  ] as const) {
    const gate = { now: 1_000, openAt, closedSince: null };
    const chat = { format: 'discord', sealedUrl: Buffer.alloc(0), template: 1, gate } as const;
    const delivery = { webhookId, url, chat } as Parameters<ChatLimits['keep']>[0];
    await limits.keep(delivery, { verdict: { kind: 'given_up' } });
    assert.equal(await pending(), left);
  }
});

test('a webhook that cannot be read is left alone; after a day what has waited for a day fails, and what is 7 days old at once', async () => {
  await sql`delete from pending_deliveries`.execute(database);
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at, parked)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', queue_now() - age, queue_now(), true
    from (
      select unnest('{10 hours, 20 hours, 30 hours, 6 days}'::interval[])
      -- More than one statement ends.
      union all select interval '8 days' from generate_series(1, 10_010)
    ) as ages(age)
  `.execute(database);
  const pending = () => countRows(database, sql`pending_deliveries`);
  const room = new Room({ timeoutMs: 10_000 });
  const limits = new ChatLimits({ database, room, log });
  limits.leaveUnreadable(webhookId);
  assert.ok(room.isClosed(webhookId));
  const dayMs = 86_400_000;
  for (const [unreadableForMs, left] of [
    [0, 4],
    [dayMs - 60_000, 4],
    [dayMs + 60_000, 2],
  ] as const) {
    await limits.giveUpUnreadable(webhookId, unreadableForMs);
    assert.equal(await pending(), left);
  }
});

test('what is kept of one channel costs the same, however many others are limited', async () => {
  const settings = queueSettings;
  const worker = openDatabase(connection, { applicationName: 'test', poolSize: 1, settings });
  after(() => worker.destroy());
  const gate = { now: 0, openAt: 0, closedSince: null };
  const chat = { format: 'discord', sealedUrl: Buffer.alloc(0), template: 1, gate } as const;
  const answer = { limited: true, gone: false, webhookMs: 1_000, platformMs: 0, invalid: true };
  const delivery = { webhookId, url, chat } as Parameters<ChatLimits['keep']>[0];
  const limits = new ChatLimits({ database: worker, room: new Room({ timeoutMs: 10_000 }), log });
  const keep = () => limits.keep(delivery, { answer, verdict: { kind: 'succeeded' } });
  // Its plan is made while there are none, and autovacuum has seen that.
  await sql`delete from chat_limits`.execute(database);
  // The pages that autovacuum reads are counted as well.
  await sql`alter table chat_limits set (autovacuum_enabled = false)`.execute(database);
  await sql`vacuum analyze chat_limits`.execute(database);
  await keep();
  const few = await pagesOf(worker, keep);
  await sql`
    insert into chat_limits select uuid_v7(), queue_now() + interval '1 minute', queue_now(), 0, queue_now()
    from generate_series(1, 5000)
  `.execute(database);
  const many = await pagesOf(worker, keep);
  assert.ok(few > 0 && many <= few + 20, `${few} pages with few, ${many} with many`);
  const { rows } = await sql`
    select invalid, open_at > queue_now() and closed_since is not null as closed from chat_limits
    where name in ('discord', ${webhookId}) order by name
  `.execute(database);
  assert.deepEqual(rows, [
    { invalid: 0, closed: true },
    { invalid: 3, closed: false },
  ]);
});
