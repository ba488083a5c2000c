/**
 * Mails to accounts: links that set a password or change the address, notices of changes, and invitations to apps.
 * Without a mail server, links are printed on the terminal if only this machine can reach the service. Nobody waits for a
 * mail, so a response takes as long for an address without an account as for one that has one.
 */
import { linkPeriod } from '../contract/periods.ts';
import { randomUUID } from 'node:crypto';
import { invitationDaysInWords } from '../contract/periods.ts';
import { quoteName } from '../contract/quote-name.ts';
import type { Mailer } from '../runtime/mail.ts';
import type { Logger } from '../runtime/log.ts';
import { isProviderIdentity } from './provider-identity.ts';
import { signUpRefused } from './sign-up-blocks.ts';

export type AccountMail = {
  /** False while too many links wait for the mail server. */
  canSendLink(): boolean;
  link(to: string, url: string, purpose: keyof typeof linkTexts): void;
  /** To somebody whom an invitation asks to sign up. `url`: of the page to sign in. */
  accountExists(to: string, url: string): void;
  /** To somebody whose address another account asked for. */
  addressTaken(to: string): void;
  /** To somebody who asked for a link and may not sign up. */
  signUpRefused(to: string): void;
  /** A code with which somebody who is signed in confirms a change. */
  code(to: string, code: string): void;
  /** `change`: what happened, as a sentence. Nothing is sent to the name that a provider gives somebody. */
  notice(to: string, change: string): void;
  /** `to`: the old address. */
  addressChanged(to: string, newAddress: string): void;
  accountDeleted(to: string): void;
  invitation(to: string, invitation: MailedInvitation): void;
};

export type MailedInvitation = { appName: string; role: string; invitedBy: string; url: string };

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

/** For whoever can no longer sign in. */
const lastAdvice = 'If it was not you, contact the operator of this service at once.';

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

export function createAccountMail({
  publicUrl,
  serviceName,
  mailer,
  print,
  log,
}: AccountMailDependencies): AccountMail {
  const account = accountPage(publicUrl);
  // Counted separately: a flood of requested links must not drop a notice.
  const pending = { link: 0, notice: 0, invitation: 0 };

  const titled = (subject: string, text: string) => ({
    subject: `${serviceName}: ${subject}`,
    text,
  });

  async function send(
    kind: keyof typeof pending,
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
    link(to, url, purpose) {
      const { subject, text, otherwise } = linkTexts[purpose];
      if (!mailer) return print(`${subject} (${to}): ${url}`);
      void send('link', to, titled(subject, `${text}\n\n${url}\n\n${otherwise}\n`));
    },
    code(to, code) {
      if (!mailer) return print(`confirm a change (${to}): ${code}`);
      void send('link', to, {
        subject: `${serviceName}: confirm a change`,
        text: `Your code is ${code}. It works once, within ten minutes.\n\nIf you did not ask for it, somebody else is signed in to your account: end the sessions that you do not know, and choose a new password.\n\n${account}\n`,
      });
    },
    accountExists(to, url) {
      const subject = 'this address has an account';
      if (!mailer) return print(`${subject} (${to}): ${url}`);
      const text =
        'Somebody, probably you, asked to sign up with this address to answer an invitation. It has an account already. Sign in to it:';
      const otherwise = 'If it was not you, ignore this mail: nothing changes.';
      void send('link', to, titled(subject, `${text}\n\n${url}\n\n${otherwise}\n`));
    },
    addressTaken(to) {
      const text =
        'Somebody, probably you, asked to use this address for another account. It has an account already, so nothing changes. To use it for the other account, change the address of this account first, or delete this account.';
      void send('link', to, titled('this address has an account', `${text}\n\n${account}\n`));
    },
    signUpRefused(to) {
      const text = `Somebody, probably you, asked to sign up with this address. ${signUpRefused}`;
      void send('link', to, titled('no account was created', `${text}\n`));
    },
    notice(to, change) {
      if (!isProviderIdentity(to))
        void send('notice', to, createNotice({ publicUrl, serviceName }, change));
    },
    accountDeleted(to) {
      const text =
        'Your account and its sessions were deleted, and so were the apps that had no other owner.';
      void send('notice', to, titled('your account was deleted', `${text}\n\n${lastAdvice}\n`));
    },
    addressChanged(to, newAddress) {
      const text = `The address of your account is now ${newAddress}. You can no longer sign in or choose a new password with this one.`;
      void send('notice', to, titled('your address changed', `${text}\n\n${lastAdvice}\n`));
    },
    invitation(to, { appName, role, invitedBy, url }) {
      const subject = 'invitation to an app';
      if (!mailer) return print(`${subject} (${to}): ${url}`);
      const text = `${invitedBy} invites you to the app ${quoteName(appName)} as ${role === 'owner' ? 'an' : 'a'} ${role}. Open the invitation and sign in with this address, or sign up. It can be accepted within ${invitationDaysInWords} days:`;
      const otherwise = 'If you do not know about this, ignore this mail: nothing changes.';
      void send('invitation', to, titled(subject, `${text}\n\n${url}\n\n${otherwise}\n`));
    },
  };
}

/** The mail about a change, which `orgdir accounts` sends too. `change`: what happened, as a sentence. */
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
