/**
 * Stores operational events, which owners and developers must know about. They are written in the transaction that causes them
 * (`queue/health/update-webhook-health.ts`); `mail-queue.ts` tracks the mail about each. Rows and mails per webhook are limited,
 * however often it fails and recovers. Sends nothing.
 */
import { mailChannel } from '../../access/notices.ts';
import type { AttemptError } from '../../contract/webhook-in-words.ts';
import { sql, type Database, type Transaction } from '../../database/database.ts';
import { deleteInBatches } from '../../database/delete-in-batches.ts';
import { mailAttemptsMax } from '../../runtime/mail-retries.ts';

export type OperationalEvent = {
  appId: string;
  webhookId: string;
  kind: 'webhook.failing' | 'webhook.deactivated' | 'webhook.healed' | 'webhook.not_healed';
  /** The reason of a deactivation. */
  reason: 'failing' | 'gone' | null;
  /** The status of the last attempt, or the error if no response came. */
  statusCode: number | null;
  error: AttemptError | null;
  exhaustedInARow: number;
  /** Pending deliveries that were cancelled; null if more were pending than are cancelled at once. */
  cancelled: number | null;
  host: string;
  lastSuccessAt: Date | null;
};

/** Rows kept per webhook; a new one removes the oldest. */
const eventsPerWebhookMax = 100;

/** The caller has locked the webhooks. At most one event of each kind, the newest, waits for its mail. */
export async function recordOperationalEvents(
  tx: Transaction,
  events: OperationalEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const column = <T>(pick: (event: OperationalEvent) => T) => events.map(pick);
  await sql`
    with clock as materialized (select queue_now() as now),
    given as (
      select * from unnest(${column((e) => e.appId)}::uuid[], ${column((e) => e.webhookId)}::uuid[],
        ${column((e) => e.kind)}::text[], ${column((e) => e.reason)}::text[],
        ${column((e) => e.statusCode)}::int[], ${column((e) => e.error)}::text[],
        ${column((e) => e.exhaustedInARow)}::int[], ${column((e) => e.cancelled)}::int[],
        ${column((e) => e.host)}::text[], ${column((e) => e.lastSuccessAt?.toISOString() ?? null)}::timestamptz[]
      ) as g(app_id, webhook_id, kind, reason, status_code, error, exhausted, cancelled, host, last_success_at)
    ),
    -- Except the one whose mail is being sent, which mentions only itself.
    waiting as materialized (
      select e.id, e.webhook_id, e.kind, e.repeats, e.mail_attempts, e.next_mail_at, cardinality(e.mailed_to) > 0 as is_mailed
      from operational_events e join given g using (webhook_id, kind)
      where e.next_mail_at is not null
        and (e.mail_leased_until is null or e.mail_leased_until <= (select now from clock))
      for update of e
    ),
    handed_over as (
      update operational_events e set next_mail_at = null, mail_leased_until = null
      from waiting w where e.id = w.id
    )
    insert into operational_events (app_id, webhook_id, kind, reason, status_code, error, exhausted_in_a_row,
      cancelled, host, last_success_at, repeats, mail_attempts, next_mail_at)
    select g.app_id, g.webhook_id, g.kind, g.reason, g.status_code, g.error, g.exhausted, g.cancelled, g.host,
      g.last_success_at, coalesce(w.repeats, 0), least(coalesce(w.attempts, 0), ${mailAttemptsMax} - 1),
      coalesce(w.next_mail_at, told.at + interval '1 hour', (select now from clock))
    from given g
    left join lateral (
      -- If somebody got the mail of one whose others are tried again, the hour begins anew.
      select sum(repeats + 1) filter (where not is_mailed)::int as repeats, max(mail_attempts) as attempts,
        greatest(max(next_mail_at), (select now from clock) + case when bool_or(is_mailed) then interval '1 hour' end) as next_mail_at
      from waiting where webhook_id = g.webhook_id and kind = g.kind
    ) w on true
    left join lateral (
      -- an hour after the last mail of its kind, whether sent, given up or being sent
      select max(coalesce(e.mailed_at, e.given_up_at, (select now from clock))) as at
      from operational_events e
      where e.webhook_id = g.webhook_id and e.kind = g.kind
        and (e.mailed_at is not null or e.given_up_at is not null or e.mail_leased_until > (select now from clock))
    ) told on told.at > (select now from clock) - interval '1 hour'
  `.execute(tx);
  await dropSurplus(
    tx,
    events.map(({ webhookId }) => webhookId),
  );
  await sql`select pg_notify(${mailChannel}, '')`.execute(tx);
}

async function dropSurplus(tx: Transaction, webhookIds: string[]): Promise<void> {
  await sql`
    delete from operational_events where id in (
      select surplus.id from unnest(${webhookIds}::uuid[]) as w(id)
      cross join lateral (
        select e.id from operational_events e where e.webhook_id = w.id
        order by e.created_at desc, e.id desc offset ${eventsPerWebhookMax}
      ) surplus
    )
  `.execute(tx);
}

/** Deletes expired events in batches and returns how many. Waits for no lock, so it does not delay recording. */
export async function dropOldOperationalEvents(
  database: Database,
  retentionDays: number,
): Promise<number> {
  return deleteInBatches(database, {
    table: 'operational_events',
    key: 'id',
    condition: sql`created_at < (select queue_now()) - ${retentionDays} * interval '1 day'`,
  });
}
