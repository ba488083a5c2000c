/** Finds the webhooks and keys that need attention, over all apps of which somebody is a member. */
import type { Overview } from '../../contract/portal.ts';
import { expiresSoonDays } from '../../contract/periods.ts';
import { suspensionOf } from '../../access/suspensions.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import { recoverable } from '../replay/requeue.ts';
import { urlHost } from '../sending/url-host.ts';

/** Each is a read of the table, for every webhook that needs attention. */
const unsentMax = 1_000;
/** More than a page shows. */
const entriesMax = 200;

export async function readOverview(
  executor: Executor,
  email: string,
): Promise<Omit<Overview, 'maintenance'>> {
  const [webhooks, keys] = await Promise.all([
    failingWebhooks(executor, email),
    expiringKeys(executor, email),
  ]);
  return { webhooks, keys };
}

/** The newest deliveries to the webhook `w` that did not succeed. Older ones are not read, however many there are. */
const latestUnsent = sql`
  select status, cancelled_by, completed_at from deliveries
  where webhook_id = w.id and status <> 'succeeded' and event not in ('webhook.test', 'webhook.probe')
  order by id desc limit ${unsentMax}
`;

async function failingWebhooks(executor: Executor, email: string): Promise<Overview['webhooks']> {
  type Webhook = Overview['webhooks'][number];
  type Row = Omit<Webhook, 'host' | 'since' | 'failingSince' | 'lastError'> & {
    url: string;
    since: Date | null;
    failingSince: Date | null;
  } & LeftJoined<ErrorRow>;
  type ErrorRow = {
    at: Date;
    statusCode: number | null;
    error: NonNullable<Webhook['lastError']>['error'];
  };
  const { rows } = await sql<Row>`
    select a.id as "appId", a.name as "appName", w.id as "webhookId", w.url, w.description,
      case when s."suspendedAt" is not null then 'suspended' when w.active then 'failing' else 'deactivated' end as state,
      nullif(w.deactivated_reason, 'suspended') as reason, s."suspendedReason",
      coalesce(s."suspendedAt", w.deactivated_at) as since, trouble.since as "failingSince",
      coalesce(h.exhausted_in_a_row, 0) as "exhaustedInARow", last.*,
      coalesce(trouble.unsent, 0) as unsent
    from webhooks w join apps a on a.id = w.app_id join app_members m on m.app_id = a.id
      left join webhook_health h on h.webhook_id = w.id
    left join lateral ${suspensionOf('webhook', sql`w.id`, sql`w.app_id`)} s on true
    left join lateral (
      select since, count(*) filter (where ${recoverable} and completed_at >= coalesce(since, w.deactivated_at)) as unsent
      from (
        select latest.*,
          -- The first failure since the last success.
          min(completed_at) filter (where status = 'failed' and completed_at > coalesce(h.last_success_at, '-infinity')
            and w.deactivated_reason is distinct from 'owner') over () as since
        from (${latestUnsent}) latest
      ) latest
      group by since
    ) trouble on true
    left join lateral (
      select started_at as at, status_code as "statusCode", error
      from (
        select id from deliveries where webhook_id = w.id and status <> 'succeeded' and status = 'failed' and event not in ('webhook.test', 'webhook.probe')
        order by id desc limit 1
      ) failed cross join lateral (
        select * from attempts where delivery_id = failed.id order by number desc limit 1
      ) attempt
    ) last on w.deactivated_reason is distinct from 'owner'
    where m.email = ${email} and (not w.active or h.exhausted_in_a_row > 0)
    order by w.id limit ${entriesMax}
  `.execute(executor);
  return rows.map(({ url, since, failingSince, at, statusCode, error, ...row }) =>
    Object.assign(row, {
      host: urlHost(url),
      since: since?.toISOString() ?? null,
      failingSince: failingSince?.toISOString() ?? null,
      lastError: at === null ? null : { at: at.toISOString(), statusCode, error },
    }),
  );
}

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
