/**
 * Mails to accounts: links that set a password or change the address, notices of changes, and invitations to apps.
 * A notice is stored with the change that it is about, because nobody asks for it: `access/notices.ts`. Links, codes and
 * invitations are not, because they hold secrets: what the mail server does not take is lost, and is asked for again.
 * Without a mail server, links are printed on the terminal if only this machine can reach the service. Nobody waits for a
 * mail, so a response takes as long for an address without an account as for one that has one.
 */
import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { accountTopic, addNotices } from '../access/notices.ts';
import { invitationDaysInWords, linkPeriod } from '../contract/periods.ts';
import { quoteName } from '../contract/texts.ts';
import { sql, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Mailer } from '../runtime/mail.ts';
import { mailsAtOnce } from '../runtime/mail-retries.ts';
import type { Logger } from '../runtime/log.ts';
import { signUpRefused } from './sign-up-blocks.ts';

export type MailedInvitation = { appName: string; role: string; invitedBy: string; url: string };

export type AccountMailDependencies = {
  publicUrl: string;
  serviceName: string;
  /** Null: links are printed. */
  mailer: Mailer | null;
  print: (line: string) => void;
  log: Logger;
};

/** Beyond it, they are refused: whoever wants one asks again. */
const pendingMax = 100;

/** For whoever can no longer sign in. */
const lastAdvice = 'If it was not you, contact the operator of this service at once.';

const noticeSubject = 'your account changed';
const deletionSubject = 'your account was deleted';

const linkTexts = {
  signUp: {
    subject: 'finish signing up',
    text: `Somebody, probably you, asked to sign up with this address. Choose a password to create the account. The link works once, within ${linkPeriod}:`,
    otherwise: 'If it was not you, ignore this mail: no account is created.',
  },
  reset: {
    subject: 'choose a new password',
    text: `Somebody, probably you, asked for a link to your account. Choose a new password. The link works once, within ${linkPeriod}, and signs you out everywhere:`,
    otherwise:
      'If it was not you, ignore this mail: your account and its password stay as they are.',
  },
  newAddress: {
    subject: 'confirm your new address',
    text: `Somebody, probably you, asked to use this address for their account. Open the link in a browser that is signed in to that account. The link works once, within ${linkPeriod}:`,
    otherwise: 'If it was not you, ignore this mail: nothing changes.',
  },
};

export class AccountMail {
  readonly #dependencies: AccountMailDependencies;
  readonly #pending = { link: 0, invitation: 0 };
  /** A flood of requested links takes no connection from notices. */
  readonly #inTurn = pLimit(mailsAtOnce);

  constructor(dependencies: AccountMailDependencies) {
    this.#dependencies = dependencies;
  }

  /** Call before what is mailed replaces an earlier link, code or invitation. Throws `unavailable` while too many mails wait. */
  requireRoom(kind: 'link' | 'invitation'): void {
    if (this.#pending[kind] < pendingMax) return;
    throw new ServiceError(
      'unavailable',
      'Too many mails are waiting to be sent. Try again in a minute.',
      { headers: { 'retry-after': '60' } },
    );
  }

  link(to: string, url: string, purpose: keyof typeof linkTexts): void {
    this.#sendLink('link', to, url, linkTexts[purpose]);
  }

  /** A code with which somebody who is signed in confirms a change. */
  code(to: string, code: string): void {
    const { mailer, print, publicUrl } = this.#dependencies;
    if (!mailer) return print(`confirm a change (${to}): ${code}`);
    const text = `Your code is ${code}. It works once, within ten minutes.\n\nIf you did not ask for it, somebody else is signed in to your account: end the sessions that you do not know, and choose a new password.\n\n${accountPage(publicUrl)}\n`;
    this.#send('link', to, 'confirm a change', text);
  }

  /** To somebody whom an invitation asks to sign up. `url`: of the page to sign in. */
  accountExists(to: string, url: string): void {
    this.#sendLink('link', to, url, {
      subject: 'this address has an account',
      text: 'Somebody, probably you, asked to sign up with this address to answer an invitation. It has an account already. Sign in to it:',
      otherwise: 'If it was not you, ignore this mail: nothing changes.',
    });
  }

  /** To somebody whose address another account asked for. */
  addressTaken(to: string): void {
    const text =
      'Somebody, probably you, asked to use this address for another account. It has an account already, so nothing changes. To use it for the other account, change the address of this account first, or delete this account.';
    const account = accountPage(this.#dependencies.publicUrl);
    this.#send('link', to, 'this address has an account', `${text}\n\n${account}\n`);
  }

  /** To somebody who asked for a link and may not sign up. */
  signUpRefused(to: string): void {
    const text = `Somebody, probably you, asked to sign up with this address. ${signUpRefused}`;
    this.#send('link', to, 'no account was created', `${text}\n`);
  }

  /** These three are sent once `tx` has committed. `change`: what happened, as a sentence. */
  notice(tx: Transaction, to: string, change: string): Promise<void> {
    return this.#keep(tx, to, createNotice(this.#dependencies, change));
  }

  accountDeleted(tx: Transaction, to: string): Promise<void> {
    return this.#keep(tx, to, createDeletionNotice(this.#dependencies));
  }

  /** `to`: the old address. */
  addressChanged(tx: Transaction, to: string, newAddress: string): Promise<void> {
    const { serviceName } = this.#dependencies;
    const text = `The address of your account is now ${newAddress}. You can no longer sign in or choose a new password with this one.`;
    const subject = `${serviceName}: your address changed`;
    return this.#keep(tx, to, { subject, text: `${text}\n\n${lastAdvice}\n` });
  }

  invitation(to: string, { appName, role, invitedBy, url }: MailedInvitation): void {
    this.#sendLink('invitation', to, url, {
      subject: 'invitation to an app',
      text: `${invitedBy} invites you to the app ${quoteName(appName)} as ${role === 'owner' ? 'an' : 'a'} ${role}. Open the invitation and sign in with this address, or sign up. It can be accepted within ${invitationDaysInWords} days:`,
      otherwise: 'If you do not know about this, ignore this mail: nothing changes.',
    });
  }

  /** Prints it without a mail server. */
  #sendLink(
    kind: 'link' | 'invitation',
    to: string,
    url: string,
    { subject, text, otherwise }: (typeof linkTexts)['reset'],
  ): void {
    const { mailer, print } = this.#dependencies;
    if (!mailer) return print(`${subject} (${to}): ${url}`);
    this.#send(kind, to, subject, `${text}\n\n${url}\n\n${otherwise}\n`);
  }

  async #keep(tx: Transaction, to: string, notice: NoticeText): Promise<void> {
    if (this.#dependencies.mailer) await keepNotice(tx, to, notice);
  }

  #send(kind: 'link' | 'invitation', to: string, about: string, text: string): void {
    const { mailer, serviceName, log } = this.#dependencies;
    if (!mailer) return;
    const mail = { id: randomUUID(), to, subject: `${serviceName}: ${about}`, text };
    if (this.#pending[kind] >= pendingMax)
      return log.warn({ mail: kind, error: 'busy' }, 'account_mail.dropped');
    this.#pending[kind] += 1;
    void this.#inTurn(() => mailer.send(mail)).then((result) => {
      this.#pending[kind] -= 1;
      if (result.kind === 'sent') return;
      const { error, statusCode } = result;
      log.warn({ mail: kind, error, statusCode }, 'account_mail.failed');
    });
  }
}

export type NoticeText = { subject: string; text: string };

/** Has the service mail it. Returns false for the name that a provider gives somebody, which gets no mail. */
export async function keepNotice(
  tx: Transaction,
  to: string,
  { subject, text }: NoticeText,
): Promise<boolean> {
  const recipients = await addNotices(tx, {
    kind: 'message',
    appId: null,
    recipients: sql`select ${to}::text as email`,
    topic: sql`${accountTopic(randomUUID())}::text`,
    details: { subject, text },
  });
  return recipients.length > 0;
}

/** The mail about a change, which `orgdir accounts` sends too. `change`: what happened, as a sentence. */
export function createNotice(
  { publicUrl, serviceName }: Pick<AccountMailDependencies, 'publicUrl' | 'serviceName'>,
  change: string,
): NoticeText {
  const advice =
    'If it was not you, sign in, end the sessions that you do not know, choose a new password, and remove passkeys and ways to sign in that you do not know. If you cannot sign in, ask the operator of this service to remove the second factor from your account.';
  return {
    subject: `${serviceName}: ${noticeSubject}`,
    text: `${change}\n\n${advice}\n\n${accountPage(publicUrl)}\n`,
  };
}

/** The mail about a deletion, by the user or by an operator. */
export function createDeletionNotice({
  serviceName,
}: Pick<AccountMailDependencies, 'serviceName'>): NoticeText {
  const text =
    'Your account and its sessions were deleted, and so were the apps that had no other owner.';
  return { subject: `${serviceName}: ${deletionSubject}`, text: `${text}\n\n${lastAdvice}\n` };
}

function accountPage(publicUrl: string): string {
  return `${publicUrl}/profile/developer/account`;
}
