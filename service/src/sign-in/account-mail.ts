/**
 * Mails about an account: links that set a password, and notices of changes. Without a mail server, links are printed on
 * the terminal if only this machine can reach the service. Nobody waits for a mail, so a response takes as long for an
 * address without an account as for one that has one.
 */
import { randomUUID } from 'node:crypto';
import type { Mailer } from '../mail.ts';
import type { Logger } from '../log.ts';
import { isProviderIdentity } from './provider-identity.ts';

export type AccountMail = {
  /** False while too many links wait for the mail server. */
  canSendLink(): boolean;
  link(to: string, url: string, hasAccount: boolean): void;
  /** A code with which somebody who is signed in confirms a change. */
  code(to: string, code: string): void;
  /** `change`: what happened, as a sentence. Nothing is sent to the name that a provider gives somebody. */
  notice(to: string, change: string): void;
};

export type AccountMailDependencies = {
  publicUrl: string;
  serviceName: string;
  /** Null: links are printed. */
  mailer: Mailer | null;
  print: (line: string) => void;
  log: Logger;
};

/** Beyond it, mails are dropped: whoever waits for a link asks again. */
const pendingMax = 100;

const signUpText = {
  subject: 'finish signing up',
  text: 'Somebody, probably you, asked to sign up with this address. Choose a password to create the account. The link works once, within an hour:',
  otherwise: 'If it was not you, ignore this mail: no account is created.',
};
const resetText = {
  subject: 'choose a new password',
  text: 'Somebody, probably you, asked for a link to your account. Choose a new password. The link works once, within an hour, and signs you out everywhere:',
  otherwise: 'If it was not you, ignore this mail: your account and its password stay as they are.',
};

export function createAccountMail({
  publicUrl,
  serviceName,
  mailer,
  print,
  log,
}: AccountMailDependencies): AccountMail {
  const account = accountPage(publicUrl);
  // Counted apart: a flood of requested links must not drop a notice.
  const pending = { link: 0, notice: 0 };

  async function send(
    kind: 'link' | 'notice',
    to: string,
    { subject, text }: { subject: string; text: string },
  ) {
    if (!mailer) return;
    if (pending[kind] >= pendingMax)
      return log.warn({ mail: kind, error: 'busy' }, 'account_mail.dropped');
    pending[kind] += 1;
    const result = await mailer.send({ id: randomUUID(), to, subject, text });
    pending[kind] -= 1;
    if (result.kind === 'sent') return;
    const { error, statusCode } = result;
    log.warn({ mail: kind, error, statusCode }, 'account_mail.failed');
  }

  return {
    canSendLink: () => pending.link < pendingMax,
    link(to, url, hasAccount) {
      const { subject, text, otherwise } = hasAccount ? resetText : signUpText;
      if (!mailer) return print(`${subject} (${to}): ${url}`);
      void send('link', to, {
        subject: `${serviceName}: ${subject}`,
        text: `${text}\n\n${url}\n\n${otherwise}\n`,
      });
    },
    code(to, code) {
      if (!mailer) return print(`confirm a change (${to}): ${code}`);
      void send('link', to, {
        subject: `${serviceName}: confirm a change`,
        text: `Your code is ${code}. It works once, within ten minutes.\n\nIf you did not ask for it, somebody else is signed in to your account: end the sessions that you do not know, and choose a new password.\n\n${account}\n`,
      });
    },
    notice(to, change) {
      if (!isProviderIdentity(to))
        void send('notice', to, createNotice({ publicUrl, serviceName }, change));
    },
  };
}

/** The mail about a change, which `orgdir account` sends too. `change`: what happened, as a sentence. */
export function createNotice(
  { publicUrl, serviceName }: Pick<AccountMailDependencies, 'publicUrl' | 'serviceName'>,
  change: string,
): { subject: string; text: string } {
  const advice =
    'If it was not you, sign in, end the sessions that you do not know, and choose a new password. If you cannot sign in, ask the operator of this service to remove the second factor from your account.';
  return {
    subject: `${serviceName}: your account changed`,
    text: `${change}\n\n${advice}\n\n${accountPage(publicUrl)}\n`,
  };
}

function accountPage(publicUrl: string): string {
  return `${publicUrl}/profile/developer/account`;
}
