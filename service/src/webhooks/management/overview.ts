/** Finds the webhooks and keys that need attention, over all apps of which somebody is a member. */
import type { AppRole } from '../../contract/app-roles.ts';
import type { Overview } from '../../contract/portal.ts';
import { expiresSoonDays } from '../../contract/periods.ts';
import { withTextTimes } from '../../contract/parse-time.ts';
import { webhookHealths } from '../../contract/webhook.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import { maskUrl } from '../sending/chat-platforms.ts';
import { urlHost } from '../sending/url-host.ts';
import { attemptsDaysMax, undelivered } from '../history/ended-deliveries.ts';
import { healthJoins, webhookHealth } from '../notifications/webhook-health.ts';

/** More than a page shows. */
const entriesMax = 200;

export async function readOverview(
  executor: Executor,
  email: string,
): Promise<Omit<Overview, 'maintenance'>> {
  const [webhooks, keys] = await Promise.all([
    troubledWebhooks(executor, email),
    expiringKeys(executor, email),
  ]);
  return { webhooks, keys };
}

/** Among so many deliveries the first one that failed, and the latest attempt of those that are retried, are looked for. */
const candidatesMax = 100;

async function troubledWebhooks(executor: Executor, email: string): Promise<Overview['webhooks']> {
  type Webhook = Required<Overview['webhooks'][number]>;
  type Times = 'since' | 'failingSince' | 'unsentSince' | 'lastSuccessAt';
  type Row = Omit<Webhook, Times | 'host' | 'state' | 'lastError'> &
    Record<Times, Date | null> & { role: AppRole } & LeftJoined<ErrorRow>;
  type ErrorRow = Omit<NonNullable<Webhook['lastError']>, 'at'> & { at: Date };
  const { rows } = await sql<Row>`
    with troubled as materialized (${listTroubled(email)}),
    changes as materialized (
      select webhook_id, hour, event, status, deliveries from delivery_changes
      where webhook_id = any(array(select "webhookId" from troubled))
    )
    select "appId", "appName", role, "webhookId", url, format, description, health, reason, "suspendedReason", t.since, "lastSuccessAt",
      "exhaustedInARow", case when not by_owner then failing_since end as "failingSince",
      unsent_since as "unsentSince",
      coalesce((${countUndelivered}), 0)::int8 as unsent, last.*
    from troubled t
    left join lateral (${firstUndelivered}) first on true
    left join lateral (${lastError}) last on not by_owner
    order by place
  `.execute(executor);
  return rows.map(({ role, url, at, statusCode, error, errorCause, ...row }) =>
    Object.assign(withTextTimes(row), {
      host: urlHost(url),
      url: role === 'viewer' ? maskUrl(url) : url,
      state: row.health === 'retrying' ? ('failing' as const) : row.health,
      lastError: at === null ? null : { at: at.toISOString(), statusCode, error, errorCause },
    }),
  );
}

/** The worst first, in the order of `webhookHealths`, and those that their owner has deactivated last. */
function listTroubled(email: string) {
  return sql`
    select *, row_number() over (order by by_owner, array_position(${[...webhookHealths]}::text[], health), "webhookId") as place
    from (
      select a.id as "appId", a.name as "appName", m.role, w.id as "webhookId", w.url, w.format, w.description, ${webhookHealth} as health,
        nullif(w.deactivated_reason, 'suspended') as reason, s."suspendedReason",
        coalesce(s."suspendedAt", w.deactivated_at) as since, h.last_success_at as "lastSuccessAt",
        coalesce(h.exhausted_in_a_row, 0) as "exhaustedInARow",
        ${webhookHealth} = 'deactivated' and w.deactivated_reason = 'owner' as by_owner,
        case when w.deactivated_reason = 'owner' then w.deactivated_at
          -- An attempt in flight at the deactivation may have succeeded after it. A success is dated when it is added to the
          -- health, after failures that followed it.
          else least(coalesce(h.last_success_at, '-infinity') - interval '1 minute', w.deactivated_at) end as worked_until
      from webhooks w join apps a on a.id = w.app_id join app_members m on m.app_id = a.id ${healthJoins}
      where m.email = ${email}
    ) own
    where health not in ('new', 'healthy') order by place limit ${entriesMax}
  `;
}

const unsuccessful = sql`webhook_id = "webhookId" and status <> 'succeeded' and completed_at >= worked_until`;

/**
 * When the first of the deliveries to the webhook of `t` was queued, to the hour, and when the first failed, that ended
 * undelivered since it worked. An index alone finds where they begin, however many ended before.
 */
const firstUndelivered = sql`
  select date_bin('1 hour', min(created_at), 'epoch') as unsent_since, min(completed_at) filter (where status = 'failed') as failing_since
  from (
    select status, created_at, completed_at from deliveries
    where ${unsuccessful} and ${undelivered} and id >= (
      select id from deliveries
      where ${unsuccessful} and id >= uuid_v7_floor(greatest(worked_until, '1970-01-03') - ${attemptsDaysMax} * interval '1 day')
      order by id limit 1
    )
    -- Not a number: PostgreSQL, which expects few of each day, would read and sort those of all days.
    order by id limit (select ${candidatesMax}::int)
  ) candidates
`;

/** As many as the list has with the status `undelivered` since `unsentSince`, which is a whole hour. */
const countUndelivered = sql`
  select sum(deliveries) from (
    select event, status, deliveries from delivery_totals where webhook_id = "webhookId" and hour >= unsent_since
    union all
    select event, status, deliveries from changes where webhook_id = "webhookId" and hour >= unsent_since
  ) counted where ${undelivered}
`;

const lastError = sql`
  select started_at as at, status_code as "statusCode", error, error_cause as "errorCause"
  from (
    (select id from deliveries where webhook_id = "webhookId" and ${undelivered} and status = 'failed' order by id desc limit 1)
    union all
    select id from (
      select id, trigger, cycle_attempts from pending_deliveries where webhook_id = "webhookId" order by due_at desc limit ${candidatesMax}
    ) pending where trigger in ('event', 'redelivery') and cycle_attempts > 0
  ) candidates cross join lateral (
    select * from attempts where delivery_id = candidates.id order by number desc limit 1
  ) attempt
  where (status_code between 200 and 299) is not true
  order by started_at desc limit 1
`;

async function expiringKeys(executor: Executor, email: string): Promise<Overview['keys']> {
  type Row = Omit<Overview['keys'][number], 'expiresAt'> & { expiresAt: Date };
  const { rows } = await sql<Row>`
    select a.id as "appId", a.name as "appName", k.id as "keyId", k.name, k.last4, k.expires_at as "expiresAt"
    from api_keys k join apps a on a.id = k.app_id join app_members m on m.app_id = a.id
    where m.email = ${email} and k.revoked_at is null
      and k.expires_at > now() and k.expires_at < now() + ${expiresSoonDays} * interval '1 day'
      -- A key that was made for a short time needs no notice.
      and k.expires_at > k.created_at + interval '1 day'
    order by k.expires_at, k.id limit ${entriesMax}
  `.execute(executor);
  return rows.map(({ expiresAt, ...row }) =>
    Object.assign(row, { expiresAt: expiresAt.toISOString() }),
  );
}
