/**
 * Mails owners and developers about events of their webhooks (`mail-queue.ts`), each separately, and next to that notices
 * (`notice-mail.ts`). It claims a mail under a lease, sends it outside any transaction, and records the result; a crash in between
 * sends it again with the same Message-ID. The transaction that records an event, and a timer, wake it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { mailChannel } from '../../access/notices.ts';
import { sql, type Database } from '../../database/database.ts';
import { readPublicUrl } from '../../database/public-url.ts';
import type { Session } from '../../database/session.ts';
import { setAsideRefused, stepOrSetAside } from '../../events/set-aside.ts';
import type { Logger } from '../../runtime/log.ts';
import { Loop } from '../../loop.ts';
import { mailsAtOnce, type Mailer } from '../../runtime/mail.ts';
import {
  claimMails,
  giveUpLateMails,
  listDueMails,
  listLateMails,
  recordMailed,
  recordMailFailed,
  recordMailGivenUp,
  recordRecipient,
  releaseMail,
  type ClaimedMail,
} from './mail-queue.ts';
import { sendNotices } from './notice-mail.ts';
import { renderMail, type MailContext } from './render-mail.ts';

export type MailSenderDependencies = MailContext & {
  database: Database;
  session: Session;
  mailer: Mailer;
  log: Logger;
};
export type MailSender = { start(): void; stop(): Promise<void> };

const noticeLoops = [
  ['account notices', 'accounts'],
  ['notices', 'others'],
] as const;

const pollMs = 30_000;
/** A mail that takes a server longer than this is cut off, and the next worker sends it again. */
const stopWithinMs = 3_000;

export function createMailSender(dependencies: MailSenderDependencies): MailSender {
  const { mailer, log } = dependencies;
  const sendFrom = async (batch: (current: MailSenderDependencies) => Promise<boolean>) => {
    const publicUrl = await readPublicUrl(dependencies.database, dependencies.publicUrl);
    return (await batch({ ...dependencies, publicUrl })) ? 0 : pollMs;
  };
  // Apart, so that thousands of announcements, or a locked notice, delay no mail about a webhook or an account.
  const loops = [
    new Loop({
      name: 'mail',
      log,
      async turn() {
        await giveUpLate(dependencies);
        return sendFrom(sendBatch);
      },
    }),
    ...noticeLoops.map(
      ([name, about]) =>
        new Loop({ name, log, turn: () => sendFrom((current) => sendNotices(current, about)) }),
    ),
  ];
  const listener = dependencies.session.createListener([mailChannel], () =>
    loops.forEach((loop) => loop.wake()),
  );

  return {
    start() {
      listener.start();
      loops.forEach((loop) => loop.start());
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
  const text = renderMail(mail, dependencies);
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
