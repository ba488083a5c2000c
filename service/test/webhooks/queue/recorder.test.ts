import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mock, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database } from '../../../src/database/database.ts';
import { onSetAside } from '../../../src/events/set-aside.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { Recorder } from '../../../src/webhooks/queue/record/recorder.ts';
import type { RecordedAttempt } from '../../../src/webhooks/sending/deliver.ts';
import { openCuttableDatabase } from '../../support/cuttable-database.ts';
import { openTestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import {
  attemptOf,
  attemptsMade,
  failed,
  insertLeased,
  succeeded,
} from '../../support/queue-steps.ts';

function startRecorder(giveUpAfterMs = 600, on: Database = database) {
  const logged: string[] = [];
  const write = (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg);
  const recorder = new Recorder({
    database: on,
    giveUpAfterMs,
    outcomesFloor: () => '0',
    log: pino({}, { write }),
    metrics: createMetrics(),
  });
  return { recorder, logged };
}

const { database } = await openTestDatabase();

/** A leased delivery that was sent. */
async function sent(more: Parameters<typeof insertLeased>[2] = {}): Promise<RecordedAttempt> {
  return attemptOf(await insertLeased(database, uuidv7(), more), succeeded);
}

/** Writes nothing any more until the test lets it. */
async function withoutTimers(act: () => Promise<unknown>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    await act();
  } finally {
    mock.timers.reset();
  }
}

function unknown(): RecordedAttempt {
  const delivery = {
    id: uuidv7(),
    leaseToken: randomUUID(),
    webhookId: uuidv7(),
    eventId: uuidv7(),
    event: 'org.created',
    trigger: 'event',
    number: 1,
    cycleAttempt: 1,
    createdAtMs: 0,
  } as const;
  return attemptOf(delivery, succeeded);
}

test('the recorder waits once for an unavailable database, for all batches', async () => {
  const { opened, cut } = await openCuttableDatabase();
  cut();
  const { recorder, logged } = startRecorder(600, opened.database);
  await Promise.all(Array.from({ length: 1_200 }, () => recorder.record(unknown())));
  const count = (msg: string) => logged.filter((each) => each === msg).length;
  assert.deepEqual([count('attempts.waiting'), logged.at(-1)], [1, 'attempts.lost']);
  assert.ok(count('attempts.lost') > 1, 'they were several batches');
});

test('after an outage that lost attempts, the recorder waits for the database again', async () => {
  const { opened, cut, mend } = await openCuttableDatabase();
  const delivery = await insertLeased(opened.database, uuidv7());
  cut();
  const { recorder, logged } = startRecorder(2_000, opened.database);
  await recorder.record(unknown());
  const recorded = recorder.record(attemptOf(delivery, succeeded));
  await eventually(async () => logged.length === 3);
  mend();
  await recorded;
  assert.deepEqual(logged, ['attempts.waiting', 'attempts.lost', 'attempts.waiting']);
  assert.equal((await attemptsMade(opened.database, delivery.id)).length, 1);
});

test('an attempt that the database refuses is set aside and does not fail its batch', async (t) => {
  const leaseToken = randomUUID();
  const good = [await sent({ leaseToken }), await sent({ leaseToken }), await sent({ leaseToken })];
  const refused = { ...(await sent({ leaseToken })), ...failed, statusCode: 99_999 };
  await sql`alter table attempts add constraint known check (status_code < 1000)`.execute(database);
  t.after(() => sql`alter table attempts drop constraint known`.execute(database));
  const aside: (string | null)[] = [];
  const stop = onSetAside(({ deliveryId }) => aside.push(deliveryId));
  const { recorder, logged } = startRecorder();
  // The first is a batch alone; the others arrive while it is written.
  await Promise.all([...good, refused].map((attempt) => recorder.record(attempt)));
  for (const { delivery } of good)
    assert.equal((await attemptsMade(database, delivery.id)).length, 1);
  assert.deepEqual(await attemptsMade(database, refused.delivery.id), []);
  stop();
  assert.deepEqual([logged, aside], [[], [refused.delivery.id]]);
  const { rows } = await sql<{ isQueued: boolean }>`
    select exists (select from pending_deliveries p where p.id = s.delivery_id) as "isQueued"
    from set_aside s where delivery_id = ${refused.delivery.id}
  `.execute(database);
  assert.deepEqual(rows, [{ isQueued: false }]);
});

test('what is set aside is told although the rest of its batch has to wait', async (t) => {
  const leaseToken = randomUUID();
  const [first, refused, full] = [
    await sent({ leaseToken }),
    { ...(await sent({ leaseToken })), statusCode: 599 },
    { ...(await sent({ leaseToken })), statusCode: 507 },
  ];
  await sql`create sequence tries`.execute(database);
  await sql`
    create function refuse_attempt() returns trigger language plpgsql as $$
    begin
      if new.status_code = 599 then raise exception 'out of range' using errcode = '22003'; end if;
      if new.status_code = 507 and nextval('tries') = 1 then raise exception 'disk full' using errcode = '53100'; end if;
      return new;
    end $$
  `.execute(database);
  await sql`
    create trigger refuse before insert on attempts for each row execute function refuse_attempt()
  `.execute(database);
  t.after(async () => {
    await sql`drop function refuse_attempt cascade`.execute(database);
    await sql`drop sequence tries`.execute(database);
  });
  const aside: (string | null)[] = [];
  const stop = onSetAside(({ deliveryId }) => aside.push(deliveryId));
  const { recorder, logged } = startRecorder(5_000);
  await Promise.all([first, refused, full].map((attempt) => recorder.record(attempt)));
  stop();
  assert.deepEqual([logged, aside], [['attempts.waiting'], [refused.delivery.id]]);
  assert.equal((await attemptsMade(database, full.delivery.id)).length, 1);
});

test('an attempt whose row somebody has locked is recorded later, and holds up no others', async () => {
  const [locked, free] = [await sent(), await sent()];
  const { recorder, logged } = startRecorder();
  const later = await database.transaction().execute(async (tx) => {
    await sql`select from pending_deliveries where id = ${locked.delivery.id} for share`.execute(
      tx,
    );
    const recorded = recorder.record(locked);
    await recorder.record(free);
    assert.equal((await attemptsMade(database, free.delivery.id)).length, 1);
    await eventually(async () => logged.length > 0);
    // Not awaited: it resolves when the row is free.
    return { recorded };
  });
  await later.recorded;
  assert.equal((await attemptsMade(database, locked.delivery.id)).length, 1);
  assert.deepEqual(logged, ['attempts.waiting']);
});

test('a process that stops does not wait for a row that somebody has locked', async () => {
  const locked = await sent();
  const { recorder, logged } = startRecorder();
  await database.transaction().execute(async (tx) => {
    await sql`select from pending_deliveries for update`.execute(tx);
    await recorder.stop(recorder.record(locked));
  });
  assert.equal(logged.at(-1), 'attempts.lost');
});

test('few attempts are collected for a moment, and then written together', async () => {
  const { recorder } = startRecorder();
  const all: RecordedAttempt[] = [];
  for (let count = 0; count < 20; count += 1) all.push(await sent());
  // Slower than they are written.
  const recorded = all.map(async (attempt, index) => {
    await wait(10 * index);
    await recorder.record(attempt);
  });
  await Promise.all(recorded);
  const { rows } = await sql<{ writes: number }>`
    select count(distinct xmin::text)::int as writes from attempts
    where delivery_id = any(${all.map(({ delivery }) => delivery.id)}::uuid[])
  `.execute(database);
  assert.ok((rows[0]?.writes ?? 0) < all.length / 2, `${rows[0]?.writes} writes`);
});

for (const [what, verdict] of [
  ['was put back', { kind: 'postponed', waitMs: 0, park: true }],
  ['may not be sent', { kind: 'cancelled', by: 'permission' }],
] as const)
  test(`a delivery that ${what} waits for no other`, async () => {
    const { recorder } = startRecorder();
    const attempts = [await sent(), { ...(await sent()), verdict }];
    await recorder.record(await sent());
    await withoutTimers(() => Promise.all(attempts.map((attempt) => recorder.record(attempt))));
    assert.equal((await attemptsMade(database, attempts[0]!.delivery.id)).length, 1);
  });

test('a stop writes at once what was collected', async () => {
  const { recorder } = startRecorder();
  const [first, second] = [await sent(), await sent()];
  await recorder.record(first);
  await withoutTimers(() => recorder.stop(recorder.record(second)));
  assert.equal((await attemptsMade(database, second.delivery.id)).length, 1);
});
