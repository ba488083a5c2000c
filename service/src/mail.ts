/**
 * Sends one plain-text mail at a time to one address, by SMTP. What becomes of it is a value: the words of a server,
 * which may repeat addresses or credentials, go nowhere.
 */
import nodemailer from 'nodemailer';
import type { NodemailerError } from 'nodemailer';
import type { MailSettings } from './config.ts';

type Mail = {
  /** The same at every try: makes the Message-ID, by which a doubled mail is recognised. */
  id: string;
  to: string;
  subject: string;
  text: string;
};

export type MailError =
  /** The server will not have this recipient, or this message: trying again changes nothing. */
  | 'recipient'
  | 'message'
  /** The server said no for the moment, or for a reason that an operator can mend. */
  | 'deferred'
  | 'auth'
  | 'connect'
  | 'dns'
  | 'tls'
  | 'timeout'
  /** `close` was called meanwhile. */
  | 'closed';

type MailResult = { kind: 'sent' } | Failure;
/** For good, or for now. `statusCode` is the server's, where it said something. */
type Failure = { kind: 'refused' | 'failed'; error: MailError; statusCode: number | null };

export type Mailer = {
  /** Ends within the deadline, and never throws for what a server does. */
  send(mail: Mail): Promise<MailResult>;
  /** Ends what is under way, and all connections. May be called twice. */
  close(): void;
};

export type MailerOptions = {
  /** One deadline over look-up, connection, TLS, sign-in and all the server's answers. */
  timeoutMs?: number;
};

const mailTimeoutMs = 10_000;
/** Mails under way at once, each on a connection of its own. */
export const mailsAtOnce = 3;
const idleConnectionMs = 30_000;

export function createMailer(
  settings: MailSettings,
  { timeoutMs = mailTimeoutMs }: MailerOptions = {},
): Mailer {
  const closing = new AbortController();
  const transport = nodemailer.createTransport({
    pool: true,
    maxConnections: mailsAtOnce,
    // A connection that the server had ended before a byte was sent; any other failure is ours to try again.
    maxRequeues: 1,
    idleTimeout: idleConnectionMs,
    ...connectionOptions(settings, timeoutMs),
  });
  // A pool that fails while nothing is sent tells so; the next mail finds out by itself.
  transport.on('error', () => {});
  const { name, address } = settings.from;
  return {
    async send({ id, to, subject, text }) {
      if (!isMailable(to)) return { kind: 'refused', error: 'recipient', statusCode: null };
      const late = AbortSignal.timeout(timeoutMs);
      try {
        await transport.sendMail({
          from: { name, address },
          to: { name: '', address: to },
          // As objects: text would be parsed, and might come out as several addresses.
          envelope: { from: { name: '', address }, to: [{ name: '', address: to }] },
          subject,
          text,
          messageId: `<${id}@${address.slice(address.indexOf('@') + 1)}>`,
          // RFC 3834: nobody's holiday notice answers it.
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.any([late, closing.signal]),
        });
        return { kind: 'sent' };
      } catch (error) {
        if (closing.signal.aborted) return failed('closed');
        if (late.aborted) return failed('timeout');
        return explain(error as NodemailerError);
      }
    },
    close() {
      closing.abort();
      transport.transporter.close?.({ force: true });
    },
  };
}

/**
 * Connects, says hello and signs in, and sends no mail: null where all of that goes well. Ends within the deadline, and
 * never throws for what a server does.
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
    const { error: reason, statusCode } = explain(error as NodemailerError);
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

/** One address that no header and no command can be smuggled in with. RFC 5321's lengths. */
function isMailable(address: string): boolean {
  return (
    address.length <= 254 &&
    /^[^\s\p{C}"(),:;<>@[\\\]]{1,64}@[^\s\p{C}"(),:;<>@[\\\]]+$/u.test(address)
  );
}

function explain(error: NodemailerError): Failure {
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
