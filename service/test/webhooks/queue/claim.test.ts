/** Tests how waiting deliveries are leased: once each, the oldest first, and none behind another webhook's backlog. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { unbindApp } from '../../../src/access/bindings.ts';
import { sql } from '../../../src/database/database.ts';
import {
  claimOrSetAside,
  claimParked,
  listParked,
  parkDue,
  parkMax,
  webhooksMax,
  type ParkedSince,
} from '../../../src/webhooks/queue/dispatch/claim.ts';
import { loadDeliveries } from '../../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { testActor } from '../../support/actor.ts';
import { countRows } from '../../support/count-rows.ts';
import { announce, put } from '../../support/directory.ts';
import {
  claimWith,
  fanOutToQueue,
  fanOutWith,
  newLease,
  type Claim,
} from '../../support/queue-steps.ts';
import { makeKey, startTestService } from '../../support/service.ts';

// No worker runs: the tests call each step themselves.
const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const claim = (options: Parameters<typeof claimWith>[1] = {}) => claimWith(database, options);
const start = '00000000-0000-0000-0000-000000000000';

async function register(key = service.key): Promise<string> {
  const json = { url: 'https://example.org/' };
  return (await service.call('/webhooks', { method: 'POST', key, json })).body.data.id;
}

async function clear(): Promise<void> {
  await sql`delete from pending_deliveries`.execute(database);
  await sql`delete from webhooks`.execute(database);
}

/** Events for everyone; their deliveries are due. */
async function publish(count = 1): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await announce(database));
  await fanOutToQueue(database);
  return ids;
}

/** Deliveries without events, due one second after another, the first `dueSeconds` ago. */
async function queue(
  webhookId: string,
  count: number,
  { dueSeconds = 3_600, parked = false } = {},
): Promise<void> {
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event',
      queue_now() + (n - 1 - ${dueSeconds}) * interval '1 second', ${parked}
    from generate_series(1, ${count}) as n
  `.execute(database);
}

/** What none of the claims at the same time took, because another, begun before, held it for a moment. */
async function claimRest() {
  const ids = await listParked(database, start);
  return (await claimParked(database, newLease(), new Map(ids.map((id) => [id, 8])))).leased;
}

function countByWebhook({ leased }: Pick<Claim, 'leased'>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { webhookId } of leased) counts[webhookId] = (counts[webhookId] ?? 0) + 1;
  return counts;
}

const countParked = (webhookId: string) =>
  countRows(database, sql`pending_deliveries where webhook_id = ${webhookId} and parked`);

test('a delivery is claimed by one process, and its attempt is counted before it is made', async () => {
  await clear();
  await register();
  await publish();
  const claims = await Promise.all([claim(), claim(), claim()]);
  const claimed = [...claims.flatMap(({ leased }) => leased), ...(await claimRest())];
  assert.equal(claimed.length, 1);
  assert.deepEqual([claimed[0]?.number, claimed[0]?.cycleAttempt], [1, 1]);
  const { rows } = await sql<{ token: string; number: number; cycle: number; leaseMs: number }>`
    select lease_token as token, attempt_count as number, cycle_attempts as cycle,
      (extract(epoch from due_at - leased_at) * 1000)::int as "leaseMs"
    from pending_deliveries
  `.execute(database);
  assert.deepEqual(rows, [{ token: claimed[0]?.leaseToken, number: 1, cycle: 1, leaseMs: 60_000 }]);
});

test('a claim that meets rows locked by another session takes the next ones', async () => {
  await clear();
  const [locked, free] = [uuidv7(), uuidv7()];
  await queue(locked, 1);
  await queue(free, 1, { dueSeconds: 60 });
  await database.transaction().execute(async (tx) => {
    await sql`select from pending_deliveries where webhook_id = ${locked} for update`.execute(tx);
    assert.deepEqual(countByWebhook(await claim()), { [free]: 1 });
  });
  assert.deepEqual(countByWebhook(await claim()), { [locked]: 1 });
});

test('a webhook gets no more than its room, and the rest of its deliveries is parked', async () => {
  await clear();
  const [busy, calm] = [uuidv7(), uuidv7()];
  await queue(busy, 20);
  await queue(calm, 1, { dueSeconds: 60 });
  const first = await claim();
  assert.deepEqual(countByWebhook(first), { [busy]: 8, [calm]: 1 });
  assert.deepEqual([first.count, first.webhookIds.length, await countParked(busy)], [21, 2, 12]);
  await queue(busy, 5);
  const second = await claim({ perWebhook: 3 });
  assert.deepEqual([countByWebhook(second), await countParked(busy)], [{ [busy]: 3 }, 14]);
});

test("a webhook's backlog is parked once, and no later look meets it", async () => {
  await clear();
  const [busy, calm] = [uuidv7(), uuidv7()];
  await queue(busy, parkMax + 88);
  await queue(calm, 1, { dueSeconds: 1 });
  const first = await parkDue(database);
  const second = await parkDue(database);
  assert.deepEqual(
    [first.count, second.count, await countParked(busy)],
    [parkMax, 89, parkMax + 88],
  );
  assert.deepEqual(second.webhookIds.toSorted(), [busy, calm].toSorted());
  await queue(calm, 1, { dueSeconds: 1 });
  const { count, webhookIds } = await parkDue(database);
  assert.deepEqual([count, webhookIds], [1, [calm]]);
});

test('parked deliveries are claimed webhook by webhook, each as many as it has room for, the oldest first', async () => {
  await clear();
  const [large, small, other] = [uuidv7(), uuidv7(), uuidv7()];
  await queue(large, 600, { parked: true });
  await queue(small, 2, { parked: true, dueSeconds: 10 });
  await queue(other, 2, { parked: true });
  const rooms = new Map([
    [large, 3],
    [small, 8],
  ]);
  const { rows } = await sql<{ id: string }>`
    select id from pending_deliveries where webhook_id = ${large} order by due_at limit 3
  `.execute(database);
  const { leased } = await claimParked(database, newLease(), rooms);
  assert.deepEqual(countByWebhook({ leased }), { [large]: 3, [small]: 2 });
  assert.deepEqual(
    leased
      .filter(({ webhookId }) => webhookId === large)
      .map(({ id }) => id)
      .sort(),
    rows.map(({ id }) => id).sort(),
  );
  assert.deepEqual(
    leased.map(({ number, cycleAttempt }) => [number, cycleAttempt]),
    leased.map(() => [1, 1]),
  );
  assert.deepEqual([await countParked(large), await countParked(other)], [597, 2]);
});

test('a claim keeps what it has leased when a later part of it fails', async (t) => {
  await clear();
  const webhook = uuidv7();
  await queue(webhook, 4, { parked: true });
  const { rows } = await sql<{ id: string }>`
    select id from pending_deliveries order by due_at
  `.execute(database);
  const [refused, fine, , late] = rows.map(({ id }) => id);
  await sql`
    create function refuse_lease() returns trigger language plpgsql as $$
    begin
      if new.id = ${sql.lit(refused)} then raise exception 'out of range' using errcode = '22003'; end if;
      if new.id = ${sql.lit(late)} then raise exception 'no lock' using errcode = '55P03'; end if;
      return new;
    end $$
  `.execute(database);
  await sql`
    create trigger refuse before update on pending_deliveries for each row execute function refuse_lease()
  `.execute(database);
  t.after(() => sql`drop function refuse_lease cascade`.execute(database));
  const claimed = await claimOrSetAside(database, newLease(), new Map([[webhook, 4]]), new Map());
  assert.deepEqual([claimed.leased.map(({ id }) => id), claimed.byParts], [[fine], true]);
  assert.equal(await countParked(webhook), 2);
  const { rows: aside } = await sql`select delivery_id as id from set_aside`.execute(database);
  assert.deepEqual(aside, [{ id: refused }]);
});

test('two claims of parked deliveries at once take different ones', async () => {
  await clear();
  const webhook = uuidv7();
  await queue(webhook, 16, { parked: true });
  const rooms = new Map([[webhook, 8]]);
  const claims = await Promise.all(
    [1, 2, 3, 4].map(() => claimParked(database, newLease(), rooms)),
  );
  const ids = claims.flatMap(({ leased }) => leased.map(({ id }) => id));
  assert.deepEqual([new Set(ids).size, ids.length], [16, 16]);
});

test('a claim of parked deliveries notes where the next one begins, unless others were parked meanwhile', async () => {
  await clear();
  const webhook = uuidv7();
  const rooms = new Map([[webhook, 2]]);
  const since: ParkedSince = new Map();
  const claimSince = async () => (await claimParked(database, newLease(), rooms, since)).leased;
  await queue(webhook, 3, { parked: true, dueSeconds: 10 });
  assert.equal((await claimSince()).length, 2);
  await queue(webhook, 1, { parked: true, dueSeconds: 20 });
  assert.equal((await claimSince()).length, 1, 'begins at the last one that it took');
  await queue(webhook, 1, { parked: true, dueSeconds: 0 });
  const claiming = claimSince();
  since.set(webhook, { atMs: -Infinity });
  assert.equal((await claiming).length, 1);
  assert.deepEqual(since.get(webhook), { atMs: -Infinity });
  assert.equal((await claimSince()).length, 1, 'begins where it is told');
});

test('nothing is claimed of a channel that its platform has closed, unless it may have waited for too long', async () => {
  await clear();
  const minute = 60_000;
  const day = 24 * 60 * minute;
  const channels = [
    { id: uuidv7(), name: 'open', openInMs: -1, claimed: 2 },
    { id: uuidv7(), name: 'closed', openInMs: minute, claimed: 0 },
    {
      id: uuidv7(),
      name: 'refused for a while',
      openInMs: minute,
      sinceMs: day - minute,
      claimed: 0,
    },
    {
      id: uuidv7(),
      name: 'refused for a day',
      openInMs: minute,
      sinceMs: day + minute,
      claimed: 2,
    },
    { id: uuidv7(), name: 'closed by another clock', openInMs: 2 * day, claimed: 2 },
    { id: uuidv7(), name: 'closed for an hour', openInMs: 60 * minute, claimed: 2 },
  ];
  for (const { id, openInMs, sinceMs = null } of channels) {
    await queue(id, 2, { parked: true });
    await sql`
      insert into chat_limits
      select ${id}, queue_now() + ${openInMs} * interval '1 millisecond',
        queue_now() - ${sinceMs}::int * interval '1 millisecond', 0, queue_now()
    `.execute(database);
  }
  const rooms = new Map(channels.map(({ id }) => [id, 8]));
  const { leased, closed } = await claimParked(database, newLease(), rooms);
  const counts = countByWebhook({ leased });
  assert.deepEqual(
    channels.map(({ name, id }) => [name, counts[id] ?? 0]),
    channels.map(({ name, claimed }) => [name, claimed]),
  );
  const expected = channels.filter(({ claimed }) => claimed === 0).map(({ id }) => id);
  assert.deepEqual([...closed.keys()].sort(), expected.sort());
  for (const ms of closed.values()) assert.ok(ms > 0 && ms <= minute, `closed for ${ms} ms`);
});

test('webhooks with parked deliveries are listed a page at a time, whatever waits behind each', async () => {
  await clear();
  const webhooks = Array.from({ length: webhooksMax + 12 }, () => uuidv7()).sort();
  for (const [index, id] of webhooks.entries())
    await queue(id, index === 0 ? 300 : 1, { parked: true });
  await queue(uuidv7(), 3);
  const first = await listParked(database, start);
  const second = await listParked(database, first.at(-1) ?? '');
  assert.deepEqual([first.length, second.length], [webhooksMax, 12]);
  assert.deepEqual([...first, ...second], webhooks);
  assert.deepEqual(await listParked(database, webhooks.at(-1) ?? ''), []);
});

test('a parked delivery is claimed whatever the clock says', async () => {
  await clear();
  const webhook = uuidv7();
  await queue(webhook, 1, { parked: true, dueSeconds: -3_600 });
  assert.equal((await claimParked(database, newLease(), new Map([[webhook, 1]]))).leased.length, 1);
});

test('a claim returns when the next delivery is due, apart from leased and parked ones', async () => {
  await clear();
  const webhook = uuidv7();
  await queue(webhook, 1, { dueSeconds: -3_600 });
  await queue(uuidv7(), 1, { dueSeconds: -60, parked: true });
  await queue(webhook, 1);
  const { leased, nextDueMs } = await claim();
  assert.equal(leased.length, 1);
  assert.ok(nextDueMs !== null && nextDueMs > 3_500_000 && nextDueMs <= 3_600_000);
  await sql`delete from pending_deliveries where due_at > queue_now() + interval '30 minutes'`.execute(
    database,
  );
  assert.equal((await claim()).nextDueMs, null);
});

test('a claim since an earlier one looks back over transactions that made deliveries due meanwhile', async () => {
  await clear();
  const [old, recent] = [uuidv7(), uuidv7()];
  const { at } = await claim();
  await queue(old, 1);
  await queue(recent, 1, { dueSeconds: 15 });
  assert.deepEqual(countByWebhook(await claim({ since: at, lookBackMs: 1_000 })), {});
  assert.deepEqual(countByWebhook(await claim({ since: at })), { [recent]: 1 });
  assert.deepEqual(countByWebhook(await claim()), { [old]: 1 });
});

test('what is loaded has the data of its event, and the order of the claim', async () => {
  await clear();
  await Promise.all([register(), register(), register()]);
  await publish(2);
  const { leased } = await claim();
  const { deliverable, refused } = await loadDeliveries(database, leased);
  assert.deepEqual(refused, []);
  assert.equal(deliverable.length, 6);
  assert.deepEqual(
    deliverable.map(({ id }) => id),
    leased.map(({ id }) => id),
  );
  for (const { data, url, owner, eventCreatedAt, secret } of deliverable) {
    assert.equal(JSON.parse(data).slug, 'acme');
    assert.equal(url, 'https://example.org/');
    assert.match(owner, /@example\.org$/);
    assert.ok(Date.parse(eventCreatedAt) > 0);
    assert.ok(secret.length > 0);
  }
});

test('a previous secret is loaded until it expires', async () => {
  await clear();
  const webhook = await register();
  const previous = async (until: ReturnType<typeof sql>) => {
    await sql`
      update webhooks set previous_secret = 'old', previous_secret_expires_at = ${until} where id = ${webhook}
    `.execute(database);
    await announce(database);
    const born = (await fanOutWith(database)).leased;
    await publish();
    const claimed = (await loadDeliveries(database, (await claim()).leased)).deliverable;
    return [...born, ...claimed].map(({ previousSecret }) => previousSecret?.toString() ?? null);
  };
  assert.deepEqual(await previous(sql`now() + interval '1 hour'`), ['old', 'old']);
  assert.deepEqual(await previous(sql`now() - interval '1 hour'`), [null, null]);
});

const refusedBy = async (claimed: Claim) =>
  (await loadDeliveries(database, claimed.leased)).refused.map(({ cancelledBy }) => cancelledBy);

test('a delivery whose event was dropped is refused', async () => {
  await clear();
  await register();
  const [event] = await publish();
  await sql`delete from events where id = ${event}`.execute(database);
  assert.deepEqual(await refusedBy(await claim()), ['permission']);
});

test('permission is checked before every attempt', async () => {
  await clear();
  const { rows } = await sql<{ id: string }>`select id from orgs`.execute(database);
  const subject = { kind: 'organization', id: rows[0]?.id ?? '' } as const;
  const { appId, key } = await makeKey(service, { bindTo: subject });
  await register(key);
  await sql`
    insert into outbox (id, name, audience, org_id, data)
    values (uuid_v7(), 'org.member.joined', 'organization', ${subject.id}, '{}')
  `.execute(database);
  await fanOutToQueue(database);
  const first = await claim();
  assert.equal((await loadDeliveries(database, first.leased)).deliverable.length, 1);
  await sql`update pending_deliveries set lease_token = null, leased_at = null, due_at = queue_now()`.execute(
    database,
  );
  await database.transaction().execute((tx) => unbindApp(tx, testActor, appId));
  assert.deepEqual(await refusedBy(await claim()), ['permission']);
});
