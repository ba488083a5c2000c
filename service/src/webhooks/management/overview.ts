/** Sums up the apps of which somebody is a member: what needs attention, and the outcomes of the last day's deliveries. */
import type { Overview } from '../../contract/portal.ts';
import { sql, type Executor } from '../../database/database.ts';
import { urlHost } from '../sending/url-host.ts';

const hoursShown = 24;
const keyNoticeDays = 14;
/** The most deliveries to read over all webhooks: at most a quarter of a second. */
const deliveriesMax = 20_000;
/** More than a page shows. */
const entriesMax = 200;

export async function readOverview(
  executor: Executor,
  email: string,
): Promise<Omit<Overview, 'maintenance'>> {
  const [webhooks, keys, deliveries] = await Promise.all([
    failingWebhooks(executor, email),
    expiringKeys(executor, email),
    lastDeliveries(executor, email),
  ]);
  return { webhooks, keys, deliveries };
}

async function failingWebhooks(executor: Executor, email: string): Promise<Overview['webhooks']> {
  type Row = Omit<Overview['webhooks'][number], 'host' | 'since'> & {
    url: string;
    since: Date | null;
  };
  const { rows } = await sql<Row>`
    select a.id as "appId", a.name as "appName", w.id as "webhookId", w.url,
      case when w.active then 'failing' else 'deactivated' end as state,
      w.deactivated_reason as reason, w.deactivated_at as since, w.exhausted_in_a_row as "exhaustedInARow"
    from webhooks w join apps a on a.id = w.app_id join app_members m on m.app_id = a.id
    where m.email = ${email} and (not w.active or w.exhausted_in_a_row > 0)
    order by w.id limit ${entriesMax}
  `.execute(executor);
  return rows.map(({ url, since, ...row }) =>
    Object.assign(row, { host: urlHost(url), since: since?.toISOString() ?? null }),
  );
}

async function expiringKeys(executor: Executor, email: string): Promise<Overview['keys']> {
  type Row = Omit<Overview['keys'][number], 'expiresAt'> & { expiresAt: Date };
  const { rows } = await sql<Row>`
    select a.id as "appId", a.name as "appName", k.id as "keyId", k.name, k.last4, k.expires_at as "expiresAt"
    from api_keys k join apps a on a.id = k.app_id join app_members m on m.app_id = a.id
    where m.email = ${email} and k.revoked_at is null
      and k.expires_at > now() and k.expires_at < now() + ${keyNoticeDays} * interval '1 day'
    order by k.expires_at, k.id limit ${entriesMax}
  `.execute(executor);
  return rows.map(({ expiresAt, ...row }) =>
    Object.assign(row, { expiresAt: expiresAt.toISOString() }),
  );
}

type HourRow = {
  start: Date;
  succeeded: number;
  failed: number;
  pending: number;
  p50: number | null;
  p95: number | null;
  complete: boolean;
};

async function lastDeliveries(executor: Executor, email: string): Promise<Overview['deliveries']> {
  const { rows } = await sql<HourRow>`
    with own as materialized (
      select w.id, greatest(1, ${deliveriesMax} / count(*) over ()) as most
      from webhooks w join app_members m on m.app_id = w.app_id where m.email = ${email}
    ),
    seen as materialized (
      select d.*, count(*) over (partition by own.id) >= own.most as cut
      from own cross join lateral (
        (select id, event, 'pending' as status, 0 as attempt_count, created_at from pending_deliveries
         where webhook_id = own.id and created_at > now() - ${hoursShown} * interval '1 hour'
         limit own.most)
        union all
        (select id, event, status, attempt_count, created_at from deliveries
         where webhook_id = own.id
           -- the id holds the time as well, so that only the last days' partitions are read
           and id >= uuid_v7_floor(now() - interval '2 days') and created_at > now() - ${hoursShown} * interval '1 hour'
         order by id desc limit own.most)
      ) d
    ),
    hours as (
      select generate_series(date_trunc('hour', now()) - ${hoursShown - 1} * interval '1 hour',
        date_trunc('hour', now()), interval '1 hour') as start
    )
    select h.start,
      count(s.id) filter (where s.status = 'succeeded') as succeeded,
      count(s.id) filter (where s.status = 'failed') as failed,
      count(s.id) filter (where s.status = 'pending') as pending,
      percentile_disc(0.5) within group (order by t.duration_ms) as p50,
      percentile_disc(0.95) within group (order by t.duration_ms) as p95,
      not coalesce((select bool_or(cut) from seen), false) as complete
    from hours h
    left join seen s on date_trunc('hour', s.created_at) = h.start and s.event not in ('webhook.test', 'webhook.probe')
    -- the attempt that succeeded is the last
    left join attempts t on t.delivery_id = s.id and t.number = s.attempt_count and s.status = 'succeeded'
    group by h.start order by h.start
  `.execute(executor);
  return {
    complete: rows.every(({ complete }) => complete),
    hours: rows.map(({ start, p50, p95, succeeded, failed, pending }) => ({
      start: start.toISOString(),
      succeeded,
      failed,
      pending,
      latencyP50Ms: p50,
      latencyP95Ms: p95,
    })),
  };
}
