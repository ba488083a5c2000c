/**
 * Queues what a webhook missed, in the order of the events and at a bounded rate: deliveries that failed or were cancelled
 * by a deactivation, and events that were fanned out while the webhook was inactive. Each event is delivered once, and
 * only if the app may have it. Sends nothing; the worker claims the deliveries as they fall due.
 */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import { sql, type Database, type Executor, type Transaction } from '../../database/database.ts';
import { urlHost } from '../sending/url-host.ts';
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

/** Replays what webhooks missed that probes have activated and whose owners want it. */
export async function replayHealed(database: Database): Promise<void> {
  while (await database.transaction().execute(replayNextHealed));
}

async function replayNextHealed(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<Replayed & { since: Date; until: Date; active: boolean }>`
    select h.webhook_id as "webhookId", w.app_id as "appId", w.active, now() as until,
      greatest(h.replay_since, now() - interval '14 days') as since
    from webhook_healing h join webhooks w on w.id = h.webhook_id
    where h.replay_since is not null limit 1 for update of h skip locked
  `.execute(tx);
  const [healed] = rows;
  if (!healed) return false;
  const { active, since, until, ...webhook } = healed;
  if (active) await replay(tx, worker, webhook, { since, until });
  await sql`
    update webhook_healing set replay_since = null where webhook_id = ${webhook.webhookId}
  `.execute(tx);
  return true;
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
