/**
 * Queues what a webhook missed, in the order of the events and at a bounded rate: deliveries that failed or were cancelled
 * by a deactivation, and events that were fanned out while the webhook was inactive. Each event is delivered once, and
 * only if the app may have it. Sends nothing; the worker claims the deliveries as they fall due.
 */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import {
  isConnectionFault,
  sql,
  type Database,
  type Executor,
  type Transaction,
} from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { urlHost } from '../sending/url-host.ts';
import { fanOutLock } from './fan-out.ts';
import { queueChannel } from './queue-channel.ts';
import { recoverable, requeue, requireActive } from './requeue.ts';

/** docs/reference/deliveries.md#replay */
const replayedMax = 10_000;
export const replaysPerSecond = 20;

export type TimeRange = { since: Date; until: Date };
export type ReplayCounts = {
  failed: number;
  cancelled: number;
  missed: number;
  /** Whether there is more than one replay may queue. */
  more: boolean;
};
export type Replayed = { appId: string; webhookId: string };

/** The advisory locks of replays that users ask for: one per app. */
const appReplayLock = 70420017;
/** A statement of such a replay that takes longer is cancelled. */
const statementMaxMs = 5_000;

/**
 * Runs a replay or its count for a user. Allows one per app at a time, because each may read all events of 14 days.
 * Throws `conflict`, also when the time range has more events than can be read in time.
 */
export async function runReplay<Result>(
  database: Database,
  appId: string,
  run: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return database.transaction().execute(async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(statementMaxMs)}`.execute(tx);
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_xact_lock(${appReplayLock}::int, hashtext(${appId})) as mine
    `.execute(tx);
    if (rows[0]?.mine !== true)
      throw new ServiceError(
        'conflict',
        'Another replay of this app is being counted or queued; try again in a moment.',
      );
    return run(tx).catch((error: unknown) => {
      if (!isCanceled(error)) throw error;
      throw new ServiceError(
        'conflict',
        'This time range has too many events to read at once; choose a shorter one.',
        { cause: error },
      );
    });
  });
}

/** Whether a statement ran into `statement_timeout`. */
const isCanceled = (error: unknown) => (error as { code?: string }).code === '57014';

/** Queues at most 10,000 deliveries, those of the oldest events first. Throws `not_found`, `conflict`. */
export async function replay(
  tx: Transaction,
  actor: Actor,
  { appId, webhookId }: Replayed,
  range: TimeRange,
): Promise<ReplayCounts> {
  // Chooses before it locks, because that may take a while.
  await requireActive(tx, appId, webhookId);
  const { chosen, counts } = await choose(tx, webhookId, range);
  // Replays of a webhook take turns, so that none queues what another one has just queued.
  const { url } = await requireActive(tx, appId, webhookId, sql`for no key update`);
  const dueTimes = await spread(tx, chosen.length);
  const places = [...chosen.keys()];
  const ended = places.filter((place) => chosen[place]?.deliveryId !== null);
  const missed = places.filter((place) => chosen[place]?.deliveryId === null);
  const timesOf = (some: number[]) => some.map((place) => dueTimes[place] as Date);
  const endedIds = ended.map((place) => chosen[place]?.deliveryId as string);
  const requeued = await requeue(tx, appId, webhookId, endedIds, recoverable, timesOf(ended));
  const missedIds = missed.map((place) => chosen[place]?.eventId as string);
  const queued = await queueMissed(tx, webhookId, missedIds, timesOf(missed));
  await recordAudit(tx, actor, {
    action: 'webhook.replayed',
    subject: { kind: 'webhook', id: webhookId },
    appId,
    details: { ...range, count: requeued + queued, host: urlHost(url) },
  });
  return counts;
}

/** Returns a time for each delivery, from now on, by the clock of the queue. */
async function spread(tx: Transaction, count: number): Promise<Date[]> {
  const { rows } = await sql<{ now: Date }>`select queue_now() as now`.execute(tx);
  const start = rows[0]?.now.getTime() ?? 0;
  return Array.from(
    { length: count },
    (_, place) => new Date(start + (place * 1000) / replaysPerSecond),
  );
}

/** Counts what a replay queues. Throws `not_found`, `conflict`. */
export async function countReplay(
  tx: Transaction,
  { appId, webhookId }: Replayed,
  range: TimeRange,
): Promise<ReplayCounts> {
  await requireActive(tx, appId, webhookId);
  return (await choose(tx, webhookId, range)).counts;
}

const worker: Actor = { kind: 'system', id: null, name: 'delivery worker' };

/** The advisory lock of a replay after healing, so that processes take turns. */
const replayLock = 70420016;

export type ReplayFailure = { webhookId: string; reason: string };

/**
 * Replays what webhooks missed that probes have activated and whose owners want it. Returns those that could not be
 * replayed; the next call tries them again.
 */
export async function replayHealed(database: Database): Promise<ReplayFailure[]> {
  const { rows } = await sql<{ webhookId: string }>`
    select webhook_id as "webhookId" from webhook_healing where replay_since is not null
  `.execute(database);
  // A fan-out under way may have seen a webhook as inactive.
  if (rows.length > 0) await waitForFanOut(database);
  const failures: ReplayFailure[] = [];
  for (const { webhookId } of rows)
    try {
      await database.transaction().execute((tx) => replayAfterHealing(tx, webhookId));
    } catch (error) {
      // One that takes too long, because it has too many events, must not keep the others waiting.
      if (isConnectionFault(error) && !isCanceled(error)) throw error;
      failures.push({ webhookId, reason: (error as Error).message });
    }
  return failures;
}

async function waitForFanOut(database: Database): Promise<void> {
  await database
    .transaction()
    .execute((tx) => sql`select pg_advisory_xact_lock_shared(${fanOutLock})`.execute(tx));
}

async function replayAfterHealing(tx: Transaction, webhookId: string): Promise<void> {
  // The number of events decides how they are best read.
  await sql`set local plan_cache_mode = force_custom_plan`.execute(tx);
  type Healed = { appId: string; active: boolean; replaySince: Date; since: Date; until: Date };
  const { rows } = await sql<Healed>`
    select w.app_id as "appId", w.active, h.replay_since as "replaySince", now() as until,
      greatest(h.replay_since, now() - interval '14 days') as since
    from webhook_healing h join webhooks w on w.id = h.webhook_id
    where h.webhook_id = ${webhookId} and h.replay_since is not null and pg_try_advisory_xact_lock(${replayLock})
  `.execute(tx);
  const [healed] = rows;
  if (!healed) return;
  const { active, appId, replaySince, since, until } = healed;
  // Locks the webhook before its healing, as changes by owners do.
  if (active) await replay(tx, worker, { appId, webhookId }, { since, until });
  await sql`
    update webhook_healing set replay_since = null
    where webhook_id = ${webhookId} and replay_since = ${replaySince.toISOString()}::timestamptz
  `.execute(tx);
}

type Chosen = { deliveryId: string | null; eventId: string };

async function choose(
  executor: Executor,
  webhookId: string,
  { since, until }: TimeRange,
): Promise<{ chosen: Chosen[]; counts: ReplayCounts }> {
  const from = sql`${since.toISOString()}::timestamptz`;
  const to = sql`${until.toISOString()}::timestamptz`;
  const { rows } = await sql<Chosen & { status: 'failed' | 'cancelled' | 'missed' }>`
    select "deliveryId", "eventId", status from (
      select d.id as "deliveryId", d.event_id as "eventId", d.status, e.position
      from webhooks w left join bindings b on b.app_id = w.app_id
      join deliveries d on d.webhook_id = w.id and ${recoverable} and d.completed_at >= ${from} and d.completed_at < ${to}
      cross join lateral (select * from events where events.id = d.event_id limit 1) e
      where w.id = ${webhookId} and e.audience <> 'webhook' and ${mayReceiveNow}
      union all
      select null, e.id, 'missed', e.position
      from webhooks w left join bindings b on b.app_id = w.app_id
      join webhook_versions v on v.webhook_id = w.id
      join events e on e.fanned_out_at >= v.valid_from and coalesce(e.fanned_out_at < v.valid_to, true)
      where w.id = ${webhookId} and e.position is not null and e.fanned_out_at >= ${from} and e.fanned_out_at < ${to}
        -- The id contains the time, by the clock of the process that published.
        and e.id >= uuid_v7_floor(${from} - interval '1 day') and e.id < uuid_v7_floor(${to} + interval '1 day')
        -- Fan-out's conditions, except that the webhook was active: an event without a delivery was missed.
        and takes_event(true, v.events, e.name)
        and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed, b.org_id, b.alliance_id, b.created_at)
        and ${mayReceiveNow} and ${hasNoDelivery(sql`w.id`, sql`${from} - interval '1 day'`)}
        -- The delivery gets the day of its event, which retention drops earlier than the event.
        and to_regclass('orgdir.deliveries_' || to_char(e.fanned_out_at at time zone 'utc', 'YYYYMMDD')) is not null
    ) found
    order by position limit ${replayedMax + 1}
  `.execute(executor);
  const chosen = rows.slice(0, replayedMax);
  const count = (kind: string) => chosen.filter(({ status }) => status === kind).length;
  const counts = {
    failed: count('failed'),
    cancelled: count('cancelled'),
    missed: count('missed'),
  };
  return { chosen, counts: { ...counts, more: rows.length > replayedMax } };
}

/** Over the event `e` and the binding `b`. */
const mayReceiveNow = sql`
  may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, (select o.listed from orgs o where o.id = e.org_id),
    b.org_id, b.alliance_id, b.created_at)
`;

/** No delivery of the event `e` to the webhook, among those made at that time or later. */
function hasNoDelivery(webhook: ReturnType<typeof sql>, since: ReturnType<typeof sql>) {
  return sql`
    not exists (select from pending_deliveries p where p.webhook_id = ${webhook} and p.event_id = e.id)
    and not exists (
      select from deliveries o where o.webhook_id = ${webhook} and o.event_id = e.id and o.id >= uuid_v7_floor(${since})
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
  if (eventIds.length === 0) return 0;
  const { rows } = await sql<{ count: number }>`
    with queued as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at)
      select uuid_v7(e.fanned_out_at), e.id, e.name, ${webhookId}, 'redelivery', e.fanned_out_at, g.due_at
      from unnest(${eventIds}::uuid[], ${dueTimes.map((at) => at.toISOString())}::timestamptz[]) as g(event_id, due_at)
      join events e on e.id = g.event_id
      where ${hasNoDelivery(sql`${webhookId}::uuid`, sql`e.fanned_out_at - interval '1 day'`)}
      returning 1
    )
    select count(*) as count from queued
  `.execute(tx);
  await sql`select pg_notify(${queueChannel}, '')`.execute(tx);
  return rows[0]?.count ?? 0;
}
