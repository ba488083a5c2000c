/**
 * Queues what a webhook missed, and only what its app may have. A recovery puts back deliveries that failed or were
 * cancelled by a deactivation, due now. A replay also makes those of events that were fanned out while the webhook was
 * inactive, and spreads all in the order of the events. Sends nothing; the worker claims the deliveries as they fall due.
 */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import { recoverDaysMax } from '../../contract/periods.ts';
import {
  changedRows,
  isConnectionFault,
  isLockTimeout,
  isStatementTimeout,
  sql,
  type Change,
  type Database,
  type Executor,
  type Transaction,
} from '../../database/database.ts';
import {
  announceSetAside,
  isolateRefused,
  setAsideWithin,
  type SetAside,
} from '../../events/set-aside.ts';
import { fanOutLock, queueChannel } from '../../events/queue-channel.ts';
import { ServiceError } from '../../errors.ts';
import { urlHost } from '../sending/url-host.ts';
import {
  createTurns,
  statementMaxMs,
  takesTooLong,
  tryAgain,
} from '../../database/create-turns.ts';
import { recoverable, requeue, requireActive } from './redeliver.ts';

/** docs/reference/deliveries.md#redeliver-and-recover and #replay */
export const replayedMax = 10_000;
export const replaysPerSecond = 20;

/** Without an end, up to now by the database's clock. */
export type TimeRange = { since: Date; until?: Date | undefined };
export type ReplayCounts = {
  failed: number;
  cancelled: number;
  missed: number;
  /** Whether there is more than one replay may queue. */
  more: boolean;
};
export type Replayed = { appId: string; webhookId: string };

/** The first key of the advisory lock of an app's replays; the second is the app. */
export const replayLock = 70420016;
/** Shorter than a statement may take, so that the error says that a lock was the reason. */
const lockMaxMs = 4_000;
/** How long a replay after healing waits for a row that somebody has locked. */
const lockTimeoutMs = 250;

const inTurn = createTurns('replays');
/** Of their own, because anybody who may look at an app can ask for as many as there are requests. */
const countInTurn = createTurns('counts');

/**
 * Runs a replay or its count for a user, in a transaction of `change`. Throws `conflict` if another one of the app runs, or
 * if the time range takes too long, `unavailable` if it waits too long for a lock, and as `inTurn`.
 */
export async function runReplay<Result>(
  database: Database,
  appId: string,
  run: (tx: Transaction, aside: SetAside[]) => Promise<Result>,
  change: Change = (work) => database.transaction().execute(work),
): Promise<Result> {
  return inTurn(async () => {
    await waitForFanOut(database);
    return inTime(change, async (tx, aside) => {
      await takeTurn(tx, appId);
      return run(tx, aside);
    });
  });
}

async function inTime<Result>(
  change: Change,
  run: (tx: Transaction, aside: SetAside[]) => Promise<Result>,
): Promise<Result> {
  return transact(change, async (tx, aside) => {
    await sql`
      select set_config('statement_timeout', ${sql.lit(String(statementMaxMs))}, true),
        set_config('lock_timeout', ${sql.lit(String(lockMaxMs))}, true)
    `.execute(tx);
    return run(tx, aside);
  }).catch((error: unknown) => {
    if (isLockTimeout(error))
      throw tryAgain('Another change has locked what this needs. Nothing was queued.');
    if (!isStatementTimeout(error)) throw error;
    throw takesTooLong();
  });
}

/** Announces what is added to `aside`, after the commit. */
async function transact<Result>(
  change: Change,
  run: (tx: Transaction, aside: SetAside[]) => Promise<Result>,
): Promise<Result> {
  const aside: SetAside[] = [];
  const result = await change((tx) => run(tx, aside));
  announceSetAside(aside);
  return result;
}

/** One at a time for each app, because it may read many events. Throws `conflict`. */
async function takeTurn(tx: Transaction, appId: string): Promise<void> {
  const { rows } = await sql<{ mine: boolean }>`
    select pg_try_advisory_xact_lock(${replayLock}::int, hashtext(${appId})) as mine
  `.execute(tx);
  if (rows[0]?.mine) return;
  throw new ServiceError(
    'conflict',
    'Another replay or recovery of this app is running. Try again in a moment.',
    { headers: { 'retry-after': '1' } },
  );
}

/** A running fan-out may have seen a webhook as inactive. Once it has ended, a replay finds what it left out. */
async function waitForFanOut(database: Database): Promise<void> {
  await database
    .transaction()
    .execute((tx) => sql`select pg_advisory_xact_lock_shared(${fanOutLock})`.execute(tx));
}

/**
 * Queues at most 10,000 deliveries, those of the oldest events first, and returns how many. Deliveries that PostgreSQL
 * refuses are set aside, and added to `aside`. Throws `not_found`, `conflict`.
 */
export async function replay(
  tx: Transaction,
  actor: Actor,
  webhook: Replayed,
  range: TimeRange,
  aside: SetAside[],
): Promise<ReplayCounts> {
  return putBack(tx, actor, 'webhook.replayed', webhook, await withEnd(tx, range), aside);
}

/** Queues at most 10,000 deliveries that ended since then, the oldest first, and returns how many. Throws as `replay`. */
export async function recover(
  tx: Transaction,
  actor: Actor,
  webhook: Replayed,
  since: Date,
  aside: SetAside[],
): Promise<number> {
  const counts = await putBack(tx, actor, 'webhook.recovered', webhook, { since }, aside);
  return counts.failed + counts.cancelled;
}

async function putBack(
  tx: Transaction,
  actor: Actor,
  action: 'webhook.replayed' | 'webhook.recovered',
  webhook: Replayed,
  range: TimeRange,
  aside: SetAside[],
): Promise<ReplayCounts> {
  const { appId, webhookId } = webhook;
  await requireActive(tx, appId, webhookId);
  // Chooses before it locks the webhook, because that may take a while.
  const { chosen, more } = await choose(tx, webhook, range);
  const { url } = await requireActive(tx, appId, webhookId, sql`for share`);
  const dueTimes = await spread(tx, chosen.length, range.until ? 1_000 / replaysPerSecond : 0);
  const due = chosen.map((one, place) => ({ one, dueAt: dueTimes[place] as Date }));
  const counts = { failed: 0, cancelled: 0, missed: 0 };
  for (const kind of ['failed', 'cancelled', 'missed'] as const)
    await isolateRefused(
      due.filter(({ one }) => one.status === kind),
      async (some) => {
        counts[kind] += await inSavepoint(tx, () => queueSome(tx, webhook, some));
      },
      async ({ one }, error) => {
        const refused = { source: 'pending_deliveries', stage: 'replays', error } as const;
        aside.push(...(await setAsideWithin(tx, { ...refused, moved: unqueued(webhookId, one) })));
      },
    );
  const count = counts.failed + counts.cancelled + counts.missed;
  const subject = { kind: 'webhook', id: webhookId } as const;
  const details = { ...range, count, host: urlHost(url) };
  await recordAudit(tx, actor, { action, subject, appId, details });
  return { ...counts, more };
}

type Due = { one: Chosen; dueAt: Date };

/** `some`: of one kind. */
async function queueSome(
  tx: Transaction,
  { appId, webhookId }: Replayed,
  some: Due[],
): Promise<number> {
  const times = some.map(({ dueAt }) => dueAt);
  const ids = some.flatMap(({ one }) => one.deliveryId ?? []);
  if (ids.length > 0) return requeue(tx, appId, webhookId, ids, recoverable, times);
  const eventIds = some.map(({ one }) => one.eventId);
  return queueMissed(tx, webhookId, eventIds, times);
}

async function inSavepoint<Result>(tx: Transaction, run: () => Promise<Result>): Promise<Result> {
  await sql`savepoint part`.execute(tx);
  try {
    const result = await run();
    await sql`release savepoint part`.execute(tx);
    return result;
  } catch (error) {
    await sql`rollback to savepoint part`.execute(tx);
    throw error;
  }
}

/** The row of the queue that a delivery that has ended, or a missed event, would have become. */
function unqueued(webhookId: string, { deliveryId, eventId }: Chosen) {
  const row = (attempts: Statement) => sql`
    jsonb_build_object('id', id, 'event_id', event_id, 'event', event, 'webhook_id', ${webhookId}::uuid,
      'trigger', 'redelivery', 'attempt_count', ${attempts}, 'created_at', created_at, 'due_at', created_at) as original
  `;
  if (deliveryId !== null)
    return sql`delete from deliveries where id = ${deliveryId} returning ${row(sql`attempt_count`)}`;
  return sql`
    select ${row(sql`0`)} from (
      select uuid_v7(fanned_out_at) as id, id as event_id, name as event, fanned_out_at as created_at
      from events where id = ${eventId}
    ) missed
  `;
}

/** Counts what a replay queues. Throws `not_found`, `conflict`. */
export async function countReplay(
  tx: Transaction,
  webhook: Replayed,
  range: TimeRange,
): Promise<ReplayCounts> {
  await requireActive(tx, webhook.appId, webhook.webhookId);
  const { chosen, more } = await choose(tx, webhook, await withEnd(tx, range));
  const count = (kind: Kind) => chosen.filter(({ status }) => status === kind).length;
  return {
    failed: count('failed'),
    cancelled: count('cancelled'),
    missed: count('missed'),
    more,
  };
}

/** Counts the deliveries that `recover` would queue now. Throws as `runReplay`, but waits only for others of the actor. */
export async function countRecoverable(
  database: Database,
  actor: Actor,
  webhook: Replayed,
  since: Date,
): Promise<number> {
  const { chosen } = await countInTurn(
    () =>
      inTime(
        (work) => database.transaction().execute(work),
        (tx) => choose(tx, webhook, { since }),
      ),
    actor.id,
  );
  return chosen.length;
}

/** By the clock that dates fan-outs and the ends of deliveries: that of this process may be behind. */
async function withEnd(tx: Transaction, { since, until }: TimeRange): Promise<TimeRange> {
  if (until) return { since, until };
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx);
  return { since, until: rows[0]?.now };
}

/** Returns a time for each delivery, from now on, by the clock of the queue. */
async function spread(tx: Transaction, count: number, stepMs: number): Promise<Date[]> {
  const { rows } = await sql<{ now: Date }>`select queue_now() as now`.execute(tx);
  const start = rows[0]?.now.getTime() ?? 0;
  return Array.from({ length: count }, (_, place) => new Date(start + place * stepMs));
}

const worker: Actor = { kind: 'system', id: null, name: 'delivery worker' };

/** The webhooks that probes have activated and whose owners want a replay. */
export async function listHealed(database: Database): Promise<string[]> {
  const { rows } = await sql<{ webhookId: string }>`
    select webhook_id as "webhookId" from webhook_healing where replay_since is not null order by webhook_id
  `.execute(database);
  return rows.map(({ webhookId }) => webhookId);
}

/** Replays what such a webhook missed. Returns why that failed, or null. The webhook is listed until it succeeds. */
export async function replayHealed(database: Database, webhookId: string): Promise<string | null> {
  try {
    await waitForFanOut(database);
    await transact(
      (work) => database.transaction().execute(work),
      (tx, aside) => replayAfterHealing(tx, webhookId, aside),
    );
    return null;
  } catch (error) {
    // Another replay of the app, or a deactivation, came first.
    if (error instanceof ServiceError && error.code === 'conflict') return null;
    // One webhook that is locked, or that takes too long, must not keep back the others.
    if (isConnectionFault(error) && !isStatementTimeout(error)) throw error;
    return (error as Error).message;
  }
}

async function replayAfterHealing(
  tx: Transaction,
  webhookId: string,
  aside: SetAside[],
): Promise<void> {
  // The number of events decides how they are best read.
  await sql`set local plan_cache_mode = force_custom_plan`.execute(tx);
  await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
  type Healed = {
    appId: string;
    active: boolean;
    isSuspended: boolean;
    replaySince: Date;
    since: Date;
    until: Date;
  };
  const { rows } = await sql<Healed>`
    select w.app_id as "appId", w.active, w.deactivated_reason is not distinct from 'suspended' as "isSuspended", h.replay_since as "replaySince", now() as until,
      greatest(h.replay_since, now() - ${recoverDaysMax} * interval '1 day') as since
    from webhook_healing h join webhooks w on w.id = h.webhook_id
    where h.webhook_id = ${webhookId} and h.replay_since is not null
  `.execute(tx);
  const [healed] = rows;
  // What is owed to a suspended webhook is owed once it is restored.
  if (!healed || healed.isSuspended) return;
  const { active, appId, replaySince, since, until } = healed;
  await takeTurn(tx, appId);
  // Locks the webhook before its healing, as changes by owners do.
  if (active) await replay(tx, worker, { appId, webhookId }, { since, until }, aside);
  await sql`
    update webhook_healing set replay_since = null
    where webhook_id = ${webhookId} and replay_since = ${replaySince.toISOString()}::timestamptz
  `.execute(tx);
}

type Statement = ReturnType<typeof sql>;
type Kind = 'failed' | 'cancelled' | 'missed';
type Chosen = { deliveryId: string | null; eventId: string; status: Kind };

/** Takes no locks, because it may take a while if the app may have only a few of many events. */
async function choose(
  executor: Executor,
  { webhookId }: Replayed,
  { since, until }: TimeRange,
): Promise<{ chosen: Chosen[]; more: boolean }> {
  const from = sql`${since.toISOString()}::timestamptz`;
  const to = sql`${until?.toISOString() ?? 'infinity'}::timestamptz`;
  const { rows } = await sql<Chosen>`
    select "deliveryId", "eventId", status from (
      select d.id as "deliveryId", d.event_id as "eventId", d.status, e.position
      from webhooks w left join bindings b on b.app_id = w.app_id
      join deliveries d on d.webhook_id = w.id and ${recoverable} and d.completed_at >= ${from} and d.completed_at < ${to}
      cross join lateral (select * from events where events.id = d.event_id limit 1) e
      where w.id = ${webhookId} and e.audience <> 'webhook' and ${mayReceiveNow}
      ${until ? missed(webhookId, from, to) : sql``}
    ) found
    order by ${until ? sql`position` : sql`"deliveryId"`} limit ${replayedMax + 1}
  `.execute(executor);
  return { chosen: rows.slice(0, replayedMax), more: rows.length > replayedMax };
}

/** Events that were fanned out in that time and have no delivery, as further rows. */
function missed(webhookId: string, from: Statement, to: Statement) {
  return sql`
      union all
      select null, e.id, 'missed', e.position
      from webhooks w left join bindings b on b.app_id = w.app_id cross join events e
      -- However many versions there are, each event looks up its own.
      cross join lateral (
        select active, events, filter_path from webhook_versions
        where webhook_id = w.id and valid_from <= e.fanned_out_at and coalesce(valid_to > e.fanned_out_at, true)
        order by valid_from desc limit 1
      ) v
      where w.id = ${webhookId} and e.position is not null and e.fanned_out_at >= ${from} and e.fanned_out_at < ${to}
        -- The id contains the time at which the event was published; it may have waited for fan-out.
        and e.id >= uuid_v7_floor(${from} - interval '1 day') and e.id < uuid_v7_floor(${to} + interval '1 day')
        -- Fan-out's conditions, except that the webhook was active: an event without a delivery was missed.
        and takes_event(true, v.events, e.name) and passes_filter(v.filter_path, e.name, filterable(e.data))
        and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed, b.org_id, b.alliance_id, b.created_at)
        and ${mayReceiveNow} and ${hasNoDelivery(sql`w.id`, from, to)}
        -- A later slice of its broadcast makes it, if the webhook was active then.
        and not (v.active and exists (select from broadcasts x where x.event_id = e.id and w.id > x.reached))
        -- The delivery gets the day of its event, which retention drops earlier than the event.
        and to_regclass('orgdir.deliveries_' || to_char(e.fanned_out_at at time zone 'utc', 'YYYYMMDD')) is not null
  `;
}

/** Over the event `e` and the binding `b`. */
const mayReceiveNow = sql`
  may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, (select o.listed from orgs o where o.id = e.org_id),
    b.org_id, b.alliance_id, b.created_at)
`;

/** No delivery of the event `e`, which was fanned out in that time. A fan-out gives deliveries ids of its own time. */
function hasNoDelivery(...[webhook, from, to]: Statement[]) {
  return sql`
    not exists (select from pending_deliveries p where p.webhook_id = ${webhook} and p.event_id = e.id)
    and not exists (select from set_aside a where a.webhook_id = ${webhook} and a.event_id = e.id and a.delivery_id is not null)
    and not exists (
      select from deliveries o where o.webhook_id = ${webhook} and o.event_id = e.id
        and o.id >= uuid_v7_floor(${from} - interval '1 minute') and o.id < uuid_v7_floor(${to} + interval '1 minute')
    )
  `;
}

/** A delivery gets the time at which it would have been made, so that it is found with its event. Returns how many. */
async function queueMissed(
  tx: Transaction,
  webhookId: string,
  eventIds: string[],
  dueTimes: Date[],
): Promise<number> {
  const queued = await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at)
    select uuid_v7(e.fanned_out_at), e.id, e.name, ${webhookId}, 'redelivery', e.fanned_out_at, g.due_at
    from unnest(${eventIds}::uuid[], ${dueTimes.map((at) => at.toISOString())}::timestamptz[]) as g(event_id, due_at)
    join events e on e.id = g.event_id
    where ${hasNoDelivery(sql`${webhookId}::uuid`, sql`e.fanned_out_at`, sql`e.fanned_out_at`)}
  `.execute(tx);
  await sql`select pg_notify(${queueChannel}, '')`.execute(tx);
  return changedRows(queued);
}
