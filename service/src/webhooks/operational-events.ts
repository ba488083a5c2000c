/**
 * Operational events: what a webhook's owner must hear of, and how far the mail about each has come. They are written
 * in the transaction that causes them (`settle-webhooks.ts`); `mail-owners.ts` sends. Both the number of rows and the
 * number of mails for one webhook have a bound, however often it falls down and gets up.
 */
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import type { MailError } from '../mail.ts';

export type OperationalEvent = {
  appId: string;
  webhookId: string;
  kind: 'webhook.failing' | 'webhook.deactivated';
  /** Of a deactivation. */
  reason: 'failing' | 'gone' | null;
  /** Of the last attempt: what was answered, or why nothing was. */
  statusCode: number | null;
  error: string | null;
  exhaustedInARow: number;
  /** Deliveries that waited and were cancelled. */
  cancelled: number;
  host: string;
  lastSuccessAt: Date | null;
};

/** An event whose mail this process may send now. */
export type ClaimedMail = Omit<OperationalEvent, 'appId'> & {
  id: string;
  appName: string;
  ownerEmail: string;
  /** Earlier ones of the same kind that no mail has told of. */
  repeats: number;
  createdAt: Date;
  webhookCreatedAt: Date;
  /** Whether the webhook is active at this moment. */
  active: boolean;
  /** Of this try, from 1. */
  attempt: number;
};

export const mailChannel = 'orgdir_mail';
/** Rows kept for one webhook; a new one drops the oldest. */
const eventsPerWebhookMax = 100;
const mailAttemptsMax = 8;
/** What is older is no news: the owner is told within a day, or not by mail. Nor is a new SMTP_URL a flood of old mail. */
const mailWithinHours = 24;
/** Longer than a mail may take, so that nobody sends it again meanwhile. */
const mailLeaseSeconds = 60;
const mailBaseMs = 60_000;
const mailFactor = 4;
const mailWaitMaxMs = 6 * 3_600_000;
const droppedPerBatch = 1_000;

/** Writes events; the caller holds the rows of their webhooks. At most one of each kind waits for its mail: the newest. */
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
    -- Not the one whose mail is under way: that tells of itself alone.
    waiting as materialized (
      select e.id, e.webhook_id, e.kind, e.repeats, e.mail_attempts, e.next_mail_at
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
      select sum(repeats + 1)::int as repeats, max(mail_attempts) as attempts, max(next_mail_at) as next_mail_at
      from waiting where webhook_id = g.webhook_id and kind = g.kind
    ) w on true
    left join lateral (
      -- an hour behind the last mail of its kind, be it sent, given up, or under way
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

/** Takes events whose mail is due, and counts the try before it is made. A lease that runs out gives them back. */
export async function claimMails(database: Database, room: number): Promise<ClaimedMail[]> {
  const { rows } = await sql<ClaimedMail>`
    with clock as materialized (select queue_now() as now),
    due as materialized (
      select e.id from operational_events e
      where e.next_mail_at <= (select now from clock)
        and (e.mail_leased_until is null or e.mail_leased_until <= (select now from clock))
        and e.mail_attempts < ${mailAttemptsMax}
        and e.created_at > (select now from clock) - ${mailWithinHours} * interval '1 hour'
        -- One mail an hour of each kind, also where an earlier one was tried again and again.
        and not exists (
          select from operational_events o
          where o.webhook_id = e.webhook_id and o.kind = e.kind and o.id <> e.id
            and (coalesce(o.mailed_at, o.given_up_at) > (select now from clock) - interval '1 hour'
              or (o.next_mail_at is not null and (o.created_at, o.id) < (e.created_at, e.id)))
        )
      order by e.next_mail_at limit ${room} for update of e skip locked
    )
    update operational_events e
    set mail_leased_until = (select now from clock) + ${mailLeaseSeconds} * interval '1 second',
      mail_attempts = e.mail_attempts + 1
    from due, webhooks w, apps a
    where e.id = due.id and w.id = e.webhook_id and a.id = e.app_id
    returning e.id, e.webhook_id as "webhookId", e.kind, e.reason, e.status_code as "statusCode", e.error,
      e.exhausted_in_a_row as "exhaustedInARow", e.cancelled, e.host, e.last_success_at as "lastSuccessAt",
      e.repeats, e.created_at as "createdAt", e.mail_attempts as attempt, w.active,
      w.created_at as "webhookCreatedAt", a.name as "appName", a.owner_email as "ownerEmail"
  `.execute(database);
  return rows;
}

type Claimed = Pick<ClaimedMail, 'id' | 'attempt'>;

export async function recordMailed(database: Database, { id }: Claimed): Promise<void> {
  await sql`
    update operational_events
    set mailed_at = queue_now(), next_mail_at = null, mail_leased_until = null, given_up_at = null, mail_error = null
    where id = ${id} and mailed_at is null
  `.execute(database);
}

/** The mail is tried again after a while, or, where that was the last try, given up. Returns which. */
export async function recordMailFailed(
  database: Database,
  claimed: Claimed,
  error: MailError,
): Promise<'again' | 'given up'> {
  if (claimed.attempt >= mailAttemptsMax) {
    await recordMailGivenUp(database, claimed, error);
    return 'given up';
  }
  const waitMs = Math.min(mailBaseMs * mailFactor ** (claimed.attempt - 1), mailWaitMaxMs);
  await sql`
    update operational_events
    set next_mail_at = queue_now() + ${waitMs} * interval '1 millisecond', mail_leased_until = null,
      mail_error = ${error}
    where id = ${claimed.id} and mail_attempts = ${claimed.attempt} and mail_leased_until is not null
  `.execute(database);
  return 'again';
}

export async function recordMailGivenUp(
  database: Database,
  { id, attempt }: Claimed,
  error: MailError,
): Promise<void> {
  await sql`
    update operational_events
    set given_up_at = queue_now(), next_mail_at = null, mail_leased_until = null, mail_error = ${error}
    where id = ${id} and mail_attempts = ${attempt} and mail_leased_until is not null
  `.execute(database);
}

/** Gives a mail back that was not to be sent after all, as if it had not been tried. */
export async function releaseMail(database: Database, { id, attempt }: Claimed): Promise<void> {
  await sql`
    update operational_events set mail_leased_until = null, mail_attempts = mail_attempts - 1
    where id = ${id} and mail_attempts = ${attempt} and mail_leased_until is not null
  `.execute(database);
}

/** Gives up what is too old to be news, and what crashes took the last try of. Returns how many. */
export async function giveUpLateMails(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with clock as materialized (select queue_now() as now),
    late as (
      select id from operational_events
      where next_mail_at is not null
        and (mail_leased_until is null or mail_leased_until <= (select now from clock))
        and (mail_attempts >= ${mailAttemptsMax}
          or created_at <= (select now from clock) - ${mailWithinHours} * interval '1 hour')
      limit ${droppedPerBatch} for update skip locked
    ),
    given_up as (
      update operational_events e
      set given_up_at = (select now from clock), next_mail_at = null, mail_leased_until = null
      from late where e.id = late.id returning 1
    )
    select count(*) as count from given_up
  `.execute(database);
  return rows[0]?.count ?? 0;
}

/** Deletes what is older than it is kept, in batches. Returns how many. Beside recording it waits for nobody. */
export async function dropOldOperationalEvents(
  database: Database,
  retentionDays: number,
): Promise<number> {
  for (let dropped = 0; ;) {
    const { rows } = await sql<{ count: number }>`
      with gone as (
        delete from operational_events where id in (
          select id from operational_events
          where created_at < (select queue_now()) - ${retentionDays} * interval '1 day'
          limit ${droppedPerBatch} for update skip locked
        ) returning 1
      )
      select count(*) as count from gone
    `.execute(database);
    const count = rows[0]?.count ?? 0;
    dropped += count;
    if (count < droppedPerBatch) return dropped;
  }
}

export type WebhookState = {
  id: string;
  appId: string;
  host: string;
  state: 'active' | 'failing' | 'deactivated';
  /** Of a deactivation. */
  reason: 'failing' | 'gone' | 'owner' | null;
  /** When it was deactivated. */
  since: Date | null;
  exhaustedInARow: number;
  latestEvent: { kind: OperationalEvent['kind']; at: Date; mailedAt: Date | null } | null;
};

/** How every webhook does, or those of one app, oldest first, each with its latest event. */
export async function listWebhookStates(
  executor: Executor,
  appId: string | null,
): Promise<WebhookState[]> {
  const { rows } = await sql<
    Omit<WebhookState, 'host' | 'latestEvent'> & {
      url: string;
      kind: OperationalEvent['kind'] | null;
      at: Date;
      mailedAt: Date | null;
    }
  >`
    select w.id, w.app_id as "appId", w.url,
      case when not w.active then 'deactivated' when w.exhausted_in_a_row > 0 then 'failing' else 'active' end as state,
      w.deactivated_reason as reason, w.deactivated_at as since, w.exhausted_in_a_row as "exhaustedInARow",
      e.kind, e.created_at as at, e.mailed_at as "mailedAt"
    from webhooks w left join lateral (
      select kind, created_at, mailed_at from operational_events
      where webhook_id = w.id order by created_at desc, id desc limit 1
    ) e on true
    where ${appId}::text is null or w.app_id::text = ${appId}
    order by w.id
  `.execute(executor);
  return rows.map(({ id, appId: app, url, state, reason, since, exhaustedInARow, ...event }) => ({
    id,
    appId: app,
    host: new URL(url).host,
    state,
    reason,
    since,
    exhaustedInARow,
    latestEvent: event.kind && { kind: event.kind, at: event.at, mailedAt: event.mailedAt },
  }));
}
