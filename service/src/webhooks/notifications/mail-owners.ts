/**
 * Mails owners about events of their webhooks (`mail-queue.ts`). It claims a mail under a lease, sends it outside any
 * transaction, and records the result; a crash in between sends it again with the same Message-ID. The transaction that
 * records an event, and a timer, wake it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionSettings, Database } from '../../database/database.ts';
import { readPublicUrl } from '../../database/public-url.ts';
import { createListener } from '../../database/listener.ts';
import type { Logger } from '../../log.ts';
import { createLoop } from '../../loop.ts';
import { mailsAtOnce, type Mailer } from '../../mail.ts';
import {
  claimMails,
  giveUpLateMails,
  recordMailed,
  recordMailFailed,
  recordMailGivenUp,
  releaseMail,
  type ClaimedMail,
} from './mail-queue.ts';
import { mailChannel } from './operational-events.ts';
import { renderMail, type MailContext } from './render-mail.ts';

export type OwnerMailDependencies = MailContext & {
  database: Database;
  connection: ConnectionSettings;
  mailer: Mailer;
  log: Logger;
};
export type OwnerMail = { start(): void; stop(): Promise<void> };

const pollMs = 30_000;
/** A mail that takes a server longer than this is cut off, and the next worker sends it again. */
const stopWithinMs = 3_000;

export function createOwnerMail(dependencies: OwnerMailDependencies): OwnerMail {
  const { mailer, log } = dependencies;
  const loop = createLoop({
    name: 'mail',
    log,
    async turn() {
      await giveUpLate(dependencies);
      return (await sendBatch(dependencies)) ? 0 : pollMs;
    },
  });
  const listener = createListener(dependencies.connection, [mailChannel], () => loop.wake());

  return {
    start() {
      listener.start();
      loop.start();
    },
    async stop() {
      await listener.stop();
      const ended = loop.stop();
      await Promise.race([ended, wait(stopWithinMs, undefined, { ref: false })]);
      mailer.close();
      await ended;
    },
  };
}

async function giveUpLate({ database, log }: OwnerMailDependencies): Promise<void> {
  const count = await giveUpLateMails(database);
  if (count > 0) log.warn({ count }, 'mail.given_up_late');
}

async function sendBatch(dependencies: OwnerMailDependencies): Promise<boolean> {
  const publicUrl = await readPublicUrl(dependencies.database, dependencies.publicUrl);
  const claimed = await claimMails(dependencies.database, mailsAtOnce);
  await Promise.all(claimed.map((mail) => send({ ...dependencies, publicUrl }, mail)));
  return claimed.length > 0;
}

async function send(dependencies: OwnerMailDependencies, mail: ClaimedMail): Promise<void> {
  const { database, mailer, log } = dependencies;
  const fields = { operationalEventId: mail.id, webhookId: mail.webhookId, attempt: mail.attempt };
  const result = await mailer.send({
    id: mail.id,
    to: mail.ownerEmail,
    ...renderMail(mail, dependencies),
  });
  switch (result.kind) {
    case 'sent':
      await recordMailed(database, mail);
      log.info(fields, 'mail.sent');
      return;
    case 'refused':
      await recordMailGivenUp(database, mail, result.error);
      log.warn({ ...fields, ...result }, 'mail.given_up');
      return;
    case 'failed': {
      if (result.error === 'closed') return releaseMail(database, mail);
      const follows = await recordMailFailed(database, mail, result.error);
      log.warn({ ...fields, ...result }, follows === 'again' ? 'mail.deferred' : 'mail.given_up');
    }
  }
}
