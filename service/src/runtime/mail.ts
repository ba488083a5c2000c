/**
 * Sends plain-text mails over SMTP, one recipient each. The result is a value. A server's messages are discarded,
 * because they may repeat addresses or credentials.
 */
import { setTimeout as wait } from 'node:timers/promises';
import nodemailer from 'nodemailer';
import type { NodemailerError } from 'nodemailer';
import type { MailSettings } from '../settings/config.ts';
import { mailsAtOnce } from './mail-retries.ts';

type Mail = {
  /** The same for every attempt: it forms the Message-ID, by which a duplicate mail is recognised. */
  id: string;
  to: string;
  subject: string;
  text: string;
};

export type MailError =
  /** The server rejects this recipient or message permanently, so there is no retry. */
  | 'recipient'
  | 'message'
  /** The server refuses temporarily, or for a reason that an operator can fix. */
  | 'deferred'
  | 'auth'
  | 'connect'
  | 'dns'
  | 'tls'
  | 'timeout'
  /** `close` was called in the meantime. */
  | 'closed';

type MailResult = { kind: 'sent' } | Failure;
/** Permanent or temporary. `statusCode` is the server's, if it sent one. */
type Failure = { kind: 'refused' | 'failed'; error: MailError; statusCode: number | null };

export type Mailer = {
  /** Ends within the deadline, and never throws for anything a server does. */
  send(mail: Mail): Promise<MailResult>;
  /** Ends all connections, and mails that are still running after this. May be called twice. */
  close(withinMs?: number): Promise<void>;
};

export type MailerOptions = {
  /** One deadline for look-up, connection, TLS, sign-in and all the server's responses. */
  timeoutMs?: number;
};

const mailTimeoutMs = 10_000;
/** Mails about webhooks, notices, notices about accounts, and links. */
const kinds = 4;
const idleConnectionMs = 30_000;

export function createMailer(
  settings: MailSettings,
  { timeoutMs = mailTimeoutMs }: MailerOptions = {},
): Mailer {
  const closing = new AbortController();
  const transport = nodemailer.createTransport({
    pool: true,
    maxConnections: kinds * mailsAtOnce,
    // Retries only on a connection that the server had closed before a byte was sent; the caller retries other
    // failures.
    maxRequeues: 1,
    idleTimeout: idleConnectionMs,
    ...connectionOptions(settings, timeoutMs),
  });
  // The pool reports errors while it is idle, too; the next mail meets the same error.
  transport.on('error', () => {});
  const { name, address } = settings.from;
  const running = new Set<Promise<MailResult>>();
  return {
    send(mail) {
      const sent = send(mail);
      running.add(sent);
      void sent.finally(() => running.delete(sent));
      return sent;
    },
    async close(withinMs = 0) {
      if (running.size > 0 && withinMs > 0)
        await Promise.race([Promise.all(running), wait(withinMs, undefined, { ref: false })]);
      closing.abort();
      transport.transporter.close?.({ force: true });
      await Promise.all(running);
    },
  };

  async function send({ id, to, subject, text }: Mail): Promise<MailResult> {
    if (!isMailable(to)) return { kind: 'refused', error: 'recipient', statusCode: null };
    const late = AbortSignal.timeout(timeoutMs);
    try {
      await transport.sendMail({
        from: { name, address },
        to: { name: '', address: to },
        // Objects, because a string would be parsed and might become several addresses.
        envelope: { from: { name: '', address }, to: [{ name: '', address: to }] },
        subject,
        text,
        messageId: `<${id}@${address.slice(address.indexOf('@') + 1)}>`,
        // RFC 3834: prevents automatic replies, such as holiday notices.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.any([late, closing.signal]),
      });
      return { kind: 'sent' };
    } catch (error) {
      if (closing.signal.aborted) return failed('closed');
      if (late.aborted) return failed('timeout');
      return toFailure(error as NodemailerError);
    }
  }
}

/**
 * Connects, greets and signs in without sending a mail; returns null on success. It ends within the deadline, and never
 * throws for anything a server does.
 */
export async function checkMailServer(
  settings: MailSettings,
  { timeoutMs = mailTimeoutMs }: MailerOptions = {},
): Promise<{ error: MailError; statusCode: number | null } | null> {
  const transport = nodemailer.createTransport(connectionOptions(settings, timeoutMs));
  const late = AbortSignal.timeout(timeoutMs);
  const tooLate = new Promise<'timeout'>((resolve) => {
    late.addEventListener('abort', () => resolve('timeout'), { once: true });
  });
  try {
    const outcome = await Promise.race([transport.verify(), tooLate]);
    return outcome === 'timeout' ? { error: 'timeout', statusCode: null } : null;
  } catch (error) {
    const { error: reason, statusCode } = toFailure(error as NodemailerError);
    return { error: reason, statusCode };
  } finally {
    transport.close();
  }
}

function connectionOptions(settings: MailSettings, timeoutMs: number) {
  return {
    host: settings.host,
    port: settings.port,
    secure: settings.secure,
    requireTLS: settings.requireTls,
    tls: { rejectUnauthorized: settings.verifyCertificate },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(settings.credentials && {
      auth: { user: settings.credentials.user, pass: settings.credentials.password },
    }),
  };
}

/** One address that cannot inject a header or a command. The lengths are RFC 5321's. */
function isMailable(address: string): boolean {
  return (
    address.length <= 254 &&
    /^[^\s\p{C}"(),:;<>@[\\\]]{1,64}@[^\s\p{C}"(),:;<>@[\\\]]+$/u.test(address)
  );
}

function toFailure(error: NodemailerError): Failure {
  const statusCode = error.responseCode ?? null;
  if (error.permanent && error.command === 'RCPT TO')
    return { kind: 'refused', error: 'recipient', statusCode };
  if (error.permanent && error.code === 'EMESSAGE')
    return { kind: 'refused', error: 'message', statusCode };
  return failed(classify(error), statusCode);
}

function failed(error: MailError, statusCode: number | null = null): Failure {
  return { kind: 'failed', error, statusCode };
}

function classify({ code, originalCode, responseCode }: NodemailerError): MailError {
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'auth';
  if (code === 'ETLS' || /TLS|SSL|CERT/.test(originalCode ?? '')) return 'tls';
  if (responseCode !== undefined) return 'deferred';
  if (code === 'EDNS') return 'dns';
  return code === 'ETIMEDOUT' ? 'timeout' : 'connect';
}
