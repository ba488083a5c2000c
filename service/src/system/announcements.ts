/** What the operator announces. It is shown until its end, also while it is still to come; ended ones are deleted. */
import type { Actor } from '../access/actor.ts';
import { recordAudit } from '../access/audit-log.ts';
import { usedKey } from '../access/create-once.ts';
import { addNotices } from '../access/notices.ts';
import { announcementCharsMax, type Severity } from '../contract/announcement.ts';
import type { Announcement } from '../contract/status.ts';
import { plainText } from '../contract/shapes.ts';
import { sql, type Executor, type Transaction, asUuid } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';

/** More would hide the page below them. */
export const announcementsMax = 5;

export type NewAnnouncement = {
  severity: Severity;
  text: string;
  startsAt: Date | null;
  endsAt: Date | null;
};

const iso = (column: 'starts_at' | 'ends_at' | 'created_at') =>
  sql`to_char(${sql.ref(column)} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const isShown = sql`(ends_at is null or ends_at > now())`;

/** The announcements that are shown as a JSON array of `Announcement`, the newest first; an expression for one column. */
export const shownAnnouncements = sql`(
  select coalesce(json_agg(json_build_object('id', id, 'severity', severity, 'text', text, 'startsAt', ${iso('starts_at')},
    'endsAt', ${iso('ends_at')}, 'createdAt', ${iso('created_at')}) order by created_at desc, id), '[]')
  from announcements where ${isShown}
)`;

export async function listAnnouncements(executor: Executor): Promise<Announcement[]> {
  const { rows } = await sql<{ shown: Announcement[] }>`
    select ${shownAnnouncements} as shown
  `.execute(executor);
  return rows[0]?.shown ?? [];
}

/** With `mailed`, also to the owners of apps who want it. Throws `validation_failed` and `conflict`. */
export async function announce(
  tx: Transaction,
  actor: Actor,
  announcement: NewAnnouncement,
  { mailed }: { mailed: boolean },
): Promise<{ id: string; mails: number }> {
  const { severity, startsAt, endsAt } = announcement;
  const text = requireText(announcement.text);
  // Two commands at once must not both add the last one.
  await sql`lock table announcements in share row exclusive mode`.execute(tx);
  await sql`delete from announcements where ends_at <= now()`.execute(tx);
  if ((await listAnnouncements(tx)).length >= announcementsMax)
    throw new ServiceError(
      'conflict',
      `There can be at most ${announcementsMax} announcements at a time. End one first.`,
    );
  const { rows } = await sql<{ id: string }>`
    insert into announcements (severity, text, starts_at, ends_at)
    select ${severity}, ${text}, ${startsAt}, ends_at from (select ${endsAt}::timestamptz as ends_at) given
    where ends_at is null or ends_at > greatest(now(), ${startsAt}::timestamptz) returning id
  `.execute(tx);
  const [row] = rows;
  if (!row) throw invalid({ path: 'ends', message: 'must be in the future, and after the start' });
  const { id } = row;
  await recordAudit(tx, actor, {
    action: 'announcement.created',
    subject: { kind: 'announcement', id },
    appId: null,
    details: { severity, text, startsAt, endsAt },
  });
  if (!mailed) return { id, mails: 0 };
  const recipients = await addNotices(tx, {
    recipients: sql`
      select distinct m.email from app_members m left join users u on u.email = m.email
      where m.role = 'owner' and coalesce(u.announcement_mails, true)
    `,
    topic: sql`${`announcement ${id}`}::text`,
    kind: 'announcement',
    appId: null,
    details: { severity, text, startsAt, endsAt },
    notAfter: endsAt,
  });
  return { id, mails: recipients.length };
}

/** As `announce` returned it. Throws `conflict` if it has ended. */
export async function findAnnounced(
  tx: Transaction,
  id: string,
): Promise<{ id: string; mails: number }> {
  const { rows } = await sql<{ mails: number }>`
    select (select count(*) from notices where topic = ${`announcement ${id}`}) as mails
    from announcements where id = ${id} and ${isShown}
  `.execute(tx);
  const [row] = rows;
  if (!row) throw usedKey(`created the announcement ${id}, which has ended. Use a new one.`);
  return { id, ...row };
}

/** Throws `not_found`, also for one whose time is over. Mails that were not sent yet are not. */
export async function endAnnouncement(tx: Transaction, actor: Actor, id: string): Promise<void> {
  const { rows } = await sql<{ id: string; text: string }>`
    delete from announcements where id = ${asUuid(id)} and ${isShown} returning id, text
  `.execute(tx);
  const [row] = rows;
  if (!row)
    throw new ServiceError(
      'not_found',
      `There is no announcement with the id ${id}. It may have ended.`,
    );
  await sql`
    delete from notices where topic = ${`announcement ${row.id}`} and next_attempt_at is not null
  `.execute(tx);
  await recordAudit(tx, actor, {
    action: 'announcement.ended',
    subject: { kind: 'announcement', id: row.id },
    appId: null,
    details: { text: row.text },
  });
}

const plain = new RegExp(plainText.pattern, 'u');

/** Throws `validation_failed`. Returns it without spaces around it. */
export function requireText(given: string): string {
  const text = given.trim();
  if (text === '' || text.length > announcementCharsMax || !plain.test(text))
    throw invalid({
      path: 'text',
      message: `must have 1 to ${announcementCharsMax} characters on one line, without control characters`,
    });
  return text;
}
