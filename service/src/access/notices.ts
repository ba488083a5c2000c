/**
 * Mails to people that are neither about a webhook nor an answer to a request: one row per recipient. They are written in the
 * transaction that causes them; `webhooks/notifications/mail-sender.ts` sends them.
 */
import { sql, type Database, type Executor } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import {
  mailAttemptsMax,
  mailLeaseSeconds,
  mailWaitMs,
  mailWithinHours,
} from '../runtime/mail-retries.ts';

/** Tells the process that sends mail of new ones. */
export const mailChannel = 'orgdir_mail';

export type Notice = {
  id: string;
  recipient: string;
  /** `message`: its details are the subject, the text and, if it is for the owners of an app, `ownersOf`. */
  kind: 'announcement' | 'message' | 'quota.near';
  appId: string | null;
  /** Null if the notice is not about an app. */
  appName: string | null;
  details: Record<string, unknown>;
  createdAt: Date;
  /** The number of this attempt, from 1. */
  attempt: number;
};

const accountTopics = 'account ';

/** The topic of a notice about an account, which waits for no others. */
export const accountTopic = (name: string) => `${accountTopics}${name}`;

/** Longer than a topic lasts. */
const keptDays = 2;

type NewNotices = Pick<Notice, 'kind' | 'appId' | 'details'> & {
  /** A query for their addresses. */
  recipients: ReturnType<typeof sql>;
  /** Text: whoever has a notice about it gets no other. */
  topic: ReturnType<typeof sql>;
  /** Nobody needs the mail afterwards. */
  notAfter?: Date | null;
};

/** Returns the recipients, those who had one about this topic left out. */
export async function addNotices(
  executor: Executor,
  { recipients, topic, kind, appId, details, notAfter = null }: NewNotices,
): Promise<string[]> {
  const { rows } = await sql<{ recipient: string }>`
    insert into notices (id, recipient, topic, kind, app_id, details, not_after)
    select uuid_v7(), r.email, ${topic}, ${kind}, ${appId}, ${JSON.stringify(details)}::jsonb, ${notAfter}
    -- A provider that verifies no address gives a name that is none.
    from (${recipients}) r(email) where r.email not like '%.invalid' order by r.email
    on conflict (recipient, topic) do nothing returning recipient
  `.execute(executor);
  if (rows.length > 0) await sql`select pg_notify(${mailChannel}, '')`.execute(executor);
  return rows.map(({ recipient }) => recipient);
}

/** Those about accounts, or all others. */
export type NoticesAbout = 'accounts' | 'others';

/** Claims up to `room` due notices, and counts the attempt before it is made. */
export async function claimNotices(
  database: Database,
  { about, room }: { about: NoticesAbout; room: number },
): Promise<Notice[]> {
  const { rows } = await sql<Notice>`
    with due as materialized (
      select id from notices due
      where next_attempt_at <= queue_now() and attempts < ${mailAttemptsMax}
        and created_at > queue_now() - ${mailWithinHours} * interval '1 hour'
        and starts_with(topic, ${accountTopics}) = ${about === 'accounts'}
        and (not_after is null or not_after > queue_now())
        -- It may have waited for hours, and its reader may have left or want no more of them.
        and (kind <> 'quota.near' or app_id is null or exists (
          select from app_members m where m.app_id = due.app_id and m.email = due.recipient and m.role = 'owner'
        ))
        and (kind <> 'message' or details ->> 'ownersOf' is null or exists (
          select from app_members m
          where m.app_id = (details ->> 'ownersOf')::uuid and m.email = due.recipient and m.role = 'owner'
        ))
        and (kind <> 'announcement' or not exists (
          select from users u where u.email = due.recipient and not u.announcement_mails
        ) and exists (select from app_members m where m.email = due.recipient and m.role = 'owner'))
      order by next_attempt_at limit ${room} for update skip locked
    )
    update notices n
    set attempts = n.attempts + 1, next_attempt_at = queue_now() + ${mailLeaseSeconds} * interval '1 second'
    from due where n.id = due.id
    returning n.id, n.recipient, n.kind, n.app_id as "appId", (select name from apps where id = n.app_id) as "appName",
      n.details, n.created_at as "createdAt", n.attempts as attempt
  `.execute(database);
  return rows;
}

type Claimed = Pick<Notice, 'id' | 'attempt'>;

/** It was sent, refused for good, or is given up. */
export async function endNotice(database: Database, { id, attempt }: Claimed): Promise<void> {
  await sql`
    update notices set next_attempt_at = null where id = ${id} and attempts = ${attempt}
  `.execute(database);
}

/** Schedules the next attempt, or ends the notice after the last. Returns whether one follows. */
export async function delayNotice(database: Database, claimed: Claimed): Promise<boolean> {
  if (claimed.attempt >= mailAttemptsMax) {
    await endNotice(database, claimed);
    return false;
  }
  await sql`
    update notices set next_attempt_at = queue_now() + ${mailWaitMs(claimed.attempt)} * interval '1 millisecond'
    where id = ${claimed.id} and attempts = ${claimed.attempt}
  `.execute(database);
  return true;
}

/** As if it had not been tried. */
export async function releaseNotice(database: Database, { id, attempt }: Claimed): Promise<void> {
  await sql`
    update notices set next_attempt_at = queue_now(), attempts = attempts - 1 where id = ${id} and attempts = ${attempt}
  `.execute(database);
}

/** Deletes what was sent or became too old, in batches. */
export async function dropOldNotices(database: Database): Promise<number> {
  return deleteInBatches(database, {
    table: 'notices',
    key: 'id',
    condition: sql`created_at < (select queue_now()) - ${keptDays} * interval '1 day'`,
  });
}
