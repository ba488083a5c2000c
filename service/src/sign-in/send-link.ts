/**
 * Sends somebody a link that only they may have: by mail, or, where none is configured and only this machine can reach
 * the service, onto its terminal. Nobody waits for it, so that an answer takes as long for an address that is not known.
 */
import { randomUUID } from 'node:crypto';
import type { SignInDependencies } from './sign-in.ts';

type LinkKind = 'verify' | 'reset' | 'known';
export type LinkSender = (kind: LinkKind, to: string, url: string) => void;

/** Beyond it, mails are dropped: whoever waits for one asks again. */
const underWayMax = 100;

const texts: Record<LinkKind, { subject: string; ask: string; otherwise: string }> = {
  verify: {
    subject: 'confirm your address',
    ask: 'Somebody, most likely you, made an account with this address. Confirm that it is yours, within an hour:',
    otherwise: 'If it was not you, do nothing: without this link the account cannot be used.',
  },
  reset: {
    subject: 'choose a new password',
    ask: 'Somebody, most likely you, asked for a new password. Choose it within an hour:',
    otherwise: 'If it was not you, do nothing: your password stays as it is.',
  },
  known: {
    subject: 'you have an account already',
    ask: 'Somebody, most likely you, wanted to make an account with this address, which has one. Sign in, or ask for a new password:',
    otherwise: 'If it was not you, do nothing: nothing has changed.',
  },
};

export function createLinkSender({
  mailer,
  print,
  log,
  serviceName,
}: Pick<SignInDependencies, 'mailer' | 'print' | 'log' | 'serviceName'>): LinkSender {
  let underWay = 0;

  async function mail(kind: LinkKind, to: string, url: string): Promise<void> {
    if (!mailer) return;
    const { subject, ask, otherwise } = texts[kind];
    underWay += 1;
    const text = `${ask}\n\n${url}\n\n${otherwise}\n`;
    const result = await mailer.send({
      id: randomUUID(),
      to,
      subject: `${serviceName}: ${subject}`,
      text,
    });
    underWay -= 1;
    if (result.kind !== 'sent')
      log.warn({ mail: kind, error: result.error, statusCode: result.statusCode }, 'sign-in.mail');
  }

  return (kind, to, url) => {
    if (!mailer) return print(`${texts[kind].subject} (${to}): ${url}`);
    if (underWay < underWayMax) void mail(kind, to, url);
    else log.warn({ mail: kind, error: 'busy' }, 'sign-in.mail');
  };
}
