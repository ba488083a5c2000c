/**
 * Sends notices (`access/notices.ts`), one mail each. A crash between the mail and its record sends it again with the same
 * Message-ID. A notice that cannot be rendered or recorded stops no other.
 */
import {
  claimNotices,
  delayNotice,
  endNotice,
  releaseNotice,
  type Notice,
  type NoticesAbout,
} from '../../access/notices.ts';
import type { NearQuota } from '../../access/quotas.ts';
import { severityLabels } from '../../contract/announcement.ts';
import type { Announcement } from '../../contract/status.ts';
import { quoteName } from '../../contract/texts.ts';
import { quotaNearPercent, type Quota } from '../../contract/quotas.ts';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../runtime/log.ts';
import { mailsAtOnce, type Mailer } from '../../runtime/mail.ts';

export type NoticeMailDependencies = {
  database: Database;
  mailer: Mailer;
  log: Logger;
  serviceName: string;
  publicUrl: string;
};

/** Sends a few due notices, and returns whether there were any. */
export async function sendNotices(
  dependencies: NoticeMailDependencies,
  about: NoticesAbout,
): Promise<boolean> {
  const claimed = await claimNotices(dependencies.database, { about, room: mailsAtOnce });
  await Promise.all(
    claimed.map((notice) =>
      // Its next attempt is scheduled already.
      send(dependencies, notice).catch((err: unknown) =>
        dependencies.log.warn({ err, noticeId: notice.id }, 'notice.failed'),
      ),
    ),
  );
  return claimed.length > 0;
}

async function send(dependencies: NoticeMailDependencies, notice: Notice): Promise<void> {
  const { database, mailer, log } = dependencies;
  const { id, kind, recipient, attempt } = notice;
  const { kind: outcome, ...failure } = await mailer.send({
    id,
    to: recipient,
    ...renderers[kind](notice, dependencies),
  });
  const fields = { noticeId: id, kind, attempt, ...failure };
  if (outcome === 'failed' && 'error' in failure && failure.error === 'closed')
    return releaseNotice(database, notice);
  if (outcome === 'failed') {
    const follows = await delayNotice(database, notice);
    return log.warn(fields, follows ? 'notice.deferred' : 'notice.given_up');
  }
  await endNotice(database, notice);
  if (outcome === 'refused') log.warn(fields, 'notice.given_up');
  else log.info(fields, 'notice.sent');
}

type Context = Pick<NoticeMailDependencies, 'serviceName' | 'publicUrl'>;

type MailText = { subject: string; text: string };

const renderers: Record<Notice['kind'], (notice: Notice, context: Context) => MailText> = {
  announcement: renderAnnouncement,
  message: ({ details }) => details as MailText,
  'quota.near': renderQuota,
};

function renderAnnouncement({ details }: Notice, { serviceName, publicUrl }: Context): MailText {
  const { severity, text, startsAt, endsAt } = details as Announcement;
  const times = [startsAt && `From ${startsAt}`, endsAt && `Until ${endsAt}`].filter(Boolean);
  return {
    subject: `${serviceName}: ${severityLabels[severity]}`,
    text: `${[text, ...times].join('\n\n')}

${publicUrl}/status

You get this mail because you own an app. You can switch announcements by mail off in your account:
${publicUrl}/profile/developer/account
`,
  };
}

function renderQuota(
  { appId, appName, details, createdAt }: Notice,
  { serviceName, publicUrl }: Context,
): MailText {
  const { quota, used, limit, ofKey = false } = details as NearQuota;
  const name = quoteName(appName ?? '');
  return {
    subject: `${serviceName}: ${name} uses ${percent(used, limit)} % of its ${subjects[quota]}`,
    text: `Your app ${name} ${uses[quota](used, limit, ofKey)}, at ${createdAt.toISOString()}. ${beyond[quota]}

${publicUrl}/profile/developer/apps/${appId}/usage

Owners get this mail at most once a day for each limit, when ${quotaNearPercent} % of it are used. If the app needs more, contact the operator.
`,
  };
}

function percent(used: number, limit: number): number {
  return Math.floor((used * 100) / limit);
}

const subjects: Record<Quota, string> = {
  rate: 'requests per minute',
  webhooks: 'webhooks',
  keys: 'API keys',
  members: 'members',
};

const uses: Record<Quota, (used: number, limit: number, ofKey: boolean) => string> = {
  rate: (used, limit, ofKey) =>
    `made ${used} of the ${limit} requests that ${ofKey ? 'one of its keys' : 'it'} can make in a minute`,
  webhooks: (used, limit) => `has ${used} of the ${limit} webhooks that it can have`,
  keys: (used, limit) => `has ${used} of the ${limit} valid API keys that it can have`,
  members: (used, limit) => `has ${used} of the ${limit} members that it can have`,
};

const beyond: Record<Quota, string> = {
  rate: 'Requests beyond that get 429 until the minute ends.',
  webhooks: 'No more can be created then.',
  keys: 'No more can be created then.',
  members: 'No more can join then.',
};
