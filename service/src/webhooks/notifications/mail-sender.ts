/**
 * Mails owners and developers about events of their webhooks (`mail-queue.ts`), each separately, and next to that notices
 * (`access/notices.ts`). It claims a mail under a lease, sends it outside any transaction, and records the result; a crash in between
 * sends it again with the same Message-ID. The transaction that records an event, and a timer, wake it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  mailChannel,
  claimNotices,
  delayNotice,
  endNotice,
  releaseNotice,
  type Notice,
  type NoticesAbout,
} from '../../access/notices.ts';
import { sql, type Database } from '../../database/database.ts';
import { readPublicUrl } from '../../database/public-url.ts';
import type { Session } from '../../database/session.ts';
import { setAsideRefused, stepOrSetAside } from '../../events/set-aside.ts';
import type { Logger } from '../../runtime/log.ts';
import { Loop } from '../../loop.ts';
import type { Mailer } from '../../runtime/mail.ts';
import { mailsAtOnce } from '../../runtime/mail-retries.ts';
import {
  claimMails,
  giveUpLateMails,
  listDueMails,
  listLateMails,
  readErrorCause,
  recordMailed,
  recordMailFailed,
  recordMailGivenUp,
  recordRecipient,
  releaseMail,
  type ClaimedMail,
} from './mail-queue.ts';
import { renderMail, type MailContext, type MailText } from './render-mail.ts';
import type { NearQuota } from '../../access/quotas.ts';
import { severityLabels } from '../../contract/announcement.ts';
import type { Announcement } from '../../contract/status.ts';
import { quoteName } from '../../contract/texts.ts';
import { quotaNearPercent, type Quota } from '../../contract/quotas.ts';

export type MailSenderDependencies = MailContext & {
  database: Database;
  session: Session;
  mailer: Mailer;
  log: Logger;
};
export type MailSender = {
  /** `only`: nothing but notices about accounts, which a process without the role `worker` sends, too. */
  start(only?: 'accounts'): void;
  stop(): Promise<void>;
};

const pollMs = 30_000;
/** A mail that takes a server longer than this is cut off, and the next worker sends it again. */
const stopWithinMs = 3_000;

export function createMailSender(dependencies: MailSenderDependencies): MailSender {
  const { mailer, log } = dependencies;
  const sendFrom = async (batch: (current: MailSenderDependencies) => Promise<boolean>) => {
    const publicUrl = await readPublicUrl(dependencies.database, dependencies.publicUrl);
    return (await batch({ ...dependencies, publicUrl })) ? 0 : pollMs;
  };
  const noticeLoop = (name: string, about: NoticesAbout) =>
    new Loop({ name, log, turn: () => sendFrom((current) => sendNotices(current, about)) });
  // Apart, so that thousands of announcements, or a locked notice, delay no mail about a webhook or an account.
  const ofAccounts = noticeLoop('account notices', 'accounts');
  const others = [
    new Loop({
      name: 'mail',
      log,
      async turn() {
        await giveUpLate(dependencies);
        return sendFrom(sendBatch);
      },
    }),
    noticeLoop('notices', 'others'),
  ];
  const loops = [ofAccounts, ...others];
  const listener = dependencies.session.createListener([mailChannel], () =>
    loops.forEach((loop) => loop.wake()),
  );

  return {
    start(only) {
      listener.start();
      ofAccounts.start();
      if (!only) others.forEach((loop) => loop.start());
    },
    async stop() {
      await listener.stop();
      const ended = Promise.all(loops.map((loop) => loop.stop())).then(() => false);
      const isLate = wait(stopWithinMs, true, { ref: false });
      // Others send with it too, and may not have ended.
      if (await Promise.race([ended, isLate])) await mailer.close();
      await ended;
    },
  };
}

/** How a mail is set aside that is refused. */
const waiting = {
  source: 'operational_events',
  stage: 'mail',
  condition: (id: string) => sql`id = ${id}`,
} as const;

async function giveUpLate({ database, log }: MailSenderDependencies): Promise<void> {
  const { length: count } = await stepOrSetAside(database, {
    ...waiting,
    step: (only) => giveUpLateMails(database, only),
    list: () => listLateMails(database),
    merge: (parts) => parts.flat(),
  });
  if (count > 0) log.warn({ count }, 'mail.given_up_late');
}

async function sendBatch(dependencies: MailSenderDependencies): Promise<boolean> {
  const { database } = dependencies;
  const claimed = await stepOrSetAside(database, {
    ...waiting,
    step: (only) => claimMails(database, mailsAtOnce, only),
    list: () => listDueMails(database, mailsAtOnce),
    merge: (parts) => parts.flat(),
  });
  await Promise.all(
    claimed.map((mail) =>
      setAsideRefused(database, waiting, [mail.id], () => send(dependencies, mail)),
    ),
  );
  return claimed.length > 0;
}

async function send(dependencies: MailSenderDependencies, mail: ClaimedMail): Promise<void> {
  const { database, log } = dependencies;
  const fields = { operationalEventId: mail.id, webhookId: mail.webhookId, attempt: mail.attempt };
  const { sent, refused, failed } = await sendToAll(dependencies, mail);
  if (failed?.error === 'closed') return releaseMail(database, mail);
  if (failed) {
    const follows = await recordMailFailed(database, mail, failed.error);
    const event = follows === 'again' ? 'mail.deferred' : 'mail.given_up';
    return log.warn({ ...fields, ...failed }, event);
  }
  if (refused && sent === 0) {
    await recordMailGivenUp(database, mail, refused.error);
    return log.warn({ ...fields, ...refused }, 'mail.given_up');
  }
  // If a process died after the last recipient, only the record is missing.
  if (mail.recipients.length === 0 && !mail.isMailed)
    return recordMailGivenUp(database, mail, null);
  await recordMailed(database, mail);
  log.info({ ...fields, recipients: sent }, 'mail.sent');
}

type Sent = Awaited<ReturnType<MailSenderDependencies['mailer']['send']>>;
type Failure = Exclude<Sent, { kind: 'sent' }>;

/** A failure for one recipient keeps the mail from no other, unless the server fails. `failed`: temporarily. */
async function sendToAll(
  dependencies: MailSenderDependencies,
  mail: ClaimedMail,
): Promise<{ sent: number; refused: Failure | null; failed: Failure | null }> {
  const { database, mailer } = dependencies;
  const errorCause = await readErrorCause(database, mail);
  const text = renderMail({ ...mail, errorCause }, dependencies);
  const outcome = { sent: 0, refused: null as Failure | null, failed: null as Failure | null };
  for (const to of mail.recipients) {
    const result = await mailer.send({ id: mail.id, to, ...text });
    const ended = result.kind !== 'failed';
    await recordRecipient(database, mail, { recipient: to, ended });
    if (result.kind === 'sent') outcome.sent += 1;
    else outcome[result.kind] = result;
    if (!ended && result.error !== 'deferred') break;
  }
  return outcome;
}

type NoticeDependencies = Omit<MailSenderDependencies, 'session' | 'deactivateAfter'>;

/** Sends a few due notices, one mail each, and returns whether there were any. One that cannot be rendered or recorded stops no other. */
export async function sendNotices(
  dependencies: NoticeDependencies,
  about: NoticesAbout,
): Promise<boolean> {
  const claimed = await claimNotices(dependencies.database, { about, room: mailsAtOnce });
  await Promise.all(
    claimed.map((notice) =>
      // Its next attempt is scheduled already.
      sendNotice(dependencies, notice).catch((err: unknown) =>
        dependencies.log.warn({ err, noticeId: notice.id }, 'notice.failed'),
      ),
    ),
  );
  return claimed.length > 0;
}

async function sendNotice(dependencies: NoticeDependencies, notice: Notice): Promise<void> {
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

const renderers: Record<Notice['kind'], (notice: Notice, context: NoticeDependencies) => MailText> =
  {
    announcement: renderAnnouncement,
    message: ({ details }) => details as MailText,
    'quota.near': renderQuota,
  };

function renderAnnouncement(
  { details }: Notice,
  { serviceName, publicUrl }: NoticeDependencies,
): MailText {
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
  { serviceName, publicUrl }: NoticeDependencies,
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
