/** The mail queue of operational events: due mails, and the result of each try. `mail-sender.ts` sends them. */
import type { Attempt, WebhookHealth } from '../../contract/webhook.ts';
import type { DeactivatedReason } from '../../contract/webhook-in-words.ts';
import { sql, type Database } from '../../database/database.ts';
import type { MailError } from '../../runtime/mail.ts';
import {
  mailAttemptsMax,
  mailLeaseSeconds,
  mailWaitMs,
  mailWithinHours,
} from '../../runtime/mail-retries.ts';
import { attemptsDaysMax, dayMs, idFloor, undelivered } from '../history/ended-deliveries.ts';
import { healthJoins, webhookHealth } from './webhook-health.ts';
import type { OperationalEvent } from './operational-events.ts';

/** An event whose mail this process may send now. */
export type ClaimedMail = OperationalEvent & {
  id: string;
  appName: string;
  /** Owners and developers who want the mail and do not have it yet. */
  recipients: string[];
  /** Whether an earlier try has mailed it to others. */
  isMailed: boolean;
  /** Earlier events of the same kind that no mail has mentioned. */
  repeats: number;
  createdAt: Date;
  webhookCreatedAt: Date;
  /** Whether the webhook is active now. */
  active: boolean;
  /** What the webhook is like now, which may have changed since the event. */
  now: {
    health: WebhookHealth;
    reason: DeactivatedReason | null;
    suspendedReason: string | null;
    exhaustedInARow: number;
  };
  /** Whether the service probes it while it is deactivated as failing. */
  selfHealing: boolean;
  /** Whether the service replays what it missed once probes have activated it. */
  replayAfterHealing: boolean;
  /** The number of this try, from 1. */
  attempt: number;
};

const givenUpPerBatch = 1_000;

/** Claims events whose mail is due, and counts the try before it is made. A lease that runs out releases them. */
export async function claimMails(
  database: Database,
  room: number,
  only: string[] | null = null,
): Promise<ClaimedMail[]> {
  const { rows } = await sql<ClaimedMail>`
    with clock as materialized (select queue_now() as now),
    due as materialized (${dueMails(room, only)})
    update operational_events e
    set mail_leased_until = (select now from clock) + ${mailLeaseSeconds} * interval '1 second',
      mail_attempts = e.mail_attempts + 1
    from due, apps a, webhooks w ${healthJoins}
    where e.id = due.id and w.id = e.webhook_id and a.id = e.app_id
    returning e.id, e.app_id as "appId", e.webhook_id as "webhookId", e.kind, e.reason, e.status_code as "statusCode", e.error,
      e.exhausted_in_a_row as "exhaustedInARow", e.cancelled, e.host, e.last_success_at as "lastSuccessAt",
      e.repeats, e.created_at as "createdAt", e.mail_attempts as attempt, w.active, w.self_healing as "selfHealing",
      w.replay_after_healing as "replayAfterHealing",
      w.created_at as "webhookCreatedAt", jsonb_build_object('health', ${webhookHealth}, 'reason', nullif(w.deactivated_reason, 'suspended'),
        'suspendedReason', s."suspendedReason", 'exhaustedInARow', coalesce(h.exhausted_in_a_row, 0)) as now, a.name as "appName", cardinality(e.mailed_to) > 0 as "isMailed", array(
        select m.email from app_members m
        where m.app_id = e.app_id and m.role in ('owner', 'developer') and m.failure_mails
          and m.email <> all(e.mailed_to) and m.email not like '%.invalid'
        order by m.email
      ) as recipients
  `.execute(database);
  return rows;
}

/** What is known of the error of an event, from the delivery that had failed last. */
export async function readErrorCause(
  database: Database,
  { webhookId, error, createdAt }: Pick<ClaimedMail, 'webhookId' | 'error' | 'createdAt'>,
): Promise<Attempt['errorCause']> {
  if (error === null) return null;
  const first = idFloor(createdAt.getTime() - attemptsDaysMax * dayMs);
  const { rows } = await sql<Pick<Attempt, 'errorCause'>>`
    select error_cause as "errorCause" from attempts
    where error = ${error} and delivery_id >= ${first} and delivery_id = (
      select id from deliveries
      where webhook_id = ${webhookId} and ${undelivered} and status = 'failed' and completed_at <= ${createdAt.toISOString()}
        and id >= ${first}
      order by id desc limit 1
    )
    order by number desc limit 1
  `.execute(database);
  return rows[0]?.errorCause ?? null;
}

/** Needs `clock`. */
function dueMails(room: number, only: string[] | null = null) {
  return sql`
    select e.id from operational_events e
    where (${only}::uuid[] is null or e.id = any(${only}::uuid[])) and e.next_mail_at <= (select now from clock)
      and (e.mail_leased_until is null or e.mail_leased_until <= (select now from clock))
      and e.mail_attempts < ${mailAttemptsMax}
      and e.created_at > (select now from clock) - ${mailWithinHours} * interval '1 hour'
      -- One mail of each kind per hour, even if an earlier one was tried several times.
      and not exists (
        select from operational_events o
        where o.webhook_id = e.webhook_id and o.kind = e.kind and o.id <> e.id
          and (coalesce(o.mailed_at, o.given_up_at) > (select now from clock) - interval '1 hour'
            or (o.next_mail_at is not null and (o.created_at, o.id) < (e.created_at, e.id)))
      )
    order by e.next_mail_at limit ${room} for update of e skip locked
  `;
}

export async function listDueMails(database: Database, room: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with clock as materialized (select queue_now() as now) ${dueMails(room)}
  `.execute(database);
  return rows.map(({ id }) => id);
}

type Claimed = Pick<ClaimedMail, 'id' | 'attempt'>;

/** Starts the lease again after one recipient. `ended`: the mail to them was sent or refused, and needs no other try. */
export async function recordRecipient(
  database: Database,
  { id, attempt }: Claimed,
  { recipient, ended }: { recipient: string; ended: boolean },
): Promise<void> {
  await sql`
    update operational_events
    set mailed_to = case when ${ended} then mailed_to || ${recipient}::text else mailed_to end,
      mail_leased_until = queue_now() + ${mailLeaseSeconds} * interval '1 second'
    where id = ${id} and mail_attempts = ${attempt} and mail_leased_until is not null
  `.execute(database);
}

export async function recordMailed(database: Database, { id }: Claimed): Promise<void> {
  await sql`
    update operational_events
    set mailed_at = queue_now(), next_mail_at = null, mail_leased_until = null, given_up_at = null, mail_error = null
    where id = ${id} and mailed_at is null
  `.execute(database);
}

/** Schedules another try or, after the last one, gives the mail up. Returns which. */
export async function recordMailFailed(
  database: Database,
  claimed: Claimed,
  error: MailError,
): Promise<'again' | 'given up'> {
  if (claimed.attempt >= mailAttemptsMax) {
    await recordMailGivenUp(database, claimed, error);
    return 'given up';
  }
  await sql`
    update operational_events
    set next_mail_at = queue_now() + ${mailWaitMs(claimed.attempt)} * interval '1 millisecond', mail_leased_until = null,
      mail_error = ${error}
    where id = ${claimed.id} and mail_attempts = ${claimed.attempt} and mail_leased_until is not null
  `.execute(database);
  return 'again';
}

/** `error`: null if nobody wants the mail. */
export async function recordMailGivenUp(
  database: Database,
  { id, attempt }: Claimed,
  error: MailError | null,
): Promise<void> {
  await sql`
    update operational_events
    set given_up_at = queue_now(), next_mail_at = null, mail_leased_until = null, mail_error = ${error}
    where id = ${id} and mail_attempts = ${attempt} and mail_leased_until is not null
  `.execute(database);
}

/** Releases a mail that was not sent after all, as if it had not been tried. */
export async function releaseMail(database: Database, { id, attempt }: Claimed): Promise<void> {
  await sql`
    update operational_events set mail_leased_until = null, mail_attempts = mail_attempts - 1
    where id = ${id} and mail_attempts = ${attempt} and mail_leased_until is not null
  `.execute(database);
}

/** Gives up mails that are too old or whose last try a crash interrupted. Returns their ids. */
export async function giveUpLateMails(
  database: Database,
  only: string[] | null = null,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with clock as materialized (select queue_now() as now),
    late as (${lateMails(only)})
    update operational_events e
    set given_up_at = (select now from clock), next_mail_at = null, mail_leased_until = null
    from late where e.id = late.id returning e.id
  `.execute(database);
  return rows.map(({ id }) => id);
}

/** Needs `clock`. */
function lateMails(only: string[] | null = null) {
  return sql`
    select id from operational_events
    where (${only}::uuid[] is null or id = any(${only}::uuid[])) and next_mail_at is not null
      and (mail_leased_until is null or mail_leased_until <= (select now from clock))
      and (mail_attempts >= ${mailAttemptsMax}
        or created_at <= (select now from clock) - ${mailWithinHours} * interval '1 hour')
    limit ${givenUpPerBatch} for update skip locked
  `;
}

export async function listLateMails(database: Database): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with clock as materialized (select queue_now() as now) ${lateMails()}
  `.execute(database);
  return rows.map(({ id }) => id);
}
