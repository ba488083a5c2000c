/** A real SMTP server on a port of its own: keeps what it is sent, and refuses or holds up where a test says so. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { MailSettings } from '../../src/settings/config.ts';
import { eventually } from './eventually.ts';

export type ReceivedMail = {
  from: string;
  to: string[];
  /** Headers by lower-case name, unfolded. */
  headers: Map<string, string>;
  text: string;
  secure: boolean;
  /** The user who signed in, or undefined. */
  user: unknown;
};

export type SmtpServer = {
  port: number;
  /** The settings of a service that sends by it. */
  env: Record<string, string>;
  mails: ReceivedMail[];
  /** Resolves once so many mails have come, with all of them. */
  received(count: number): Promise<ReceivedMail[]>;
  /** Resolves once a mail to the address whose text matches has come, with its text. */
  mailTo: (address: string, words: RegExp) => Promise<string>;
  /** Connections open now. */
  connections(): number;
  stop(): Promise<void>;
};

export type SmtpBehaviour = {
  options?: SMTPServerOptions;
  /** The code to refuse a recipient or a sender with; null takes it. */
  refuseRecipient?: (address: string) => number | null;
  refuseSender?: () => number | null;
  /** The code to answer a whole message with; it may wait before it says. */
  refuseMessage?: () => number | null | Promise<number | null>;
  port?: number;
};

export const smtpUser = { user: 'orgdir', password: 'correct horse' };

/** Of a server without TLS and sign-in. */
export function mailSettings(port: number): MailSettings {
  return {
    host: '127.0.0.1',
    port,
    secure: false,
    requireTls: false,
    verifyCertificate: false,
    credentials: null,
    from: { name: 'Directory', address: 'no-reply@directory.example' },
  };
}

export async function startSmtpServer(behaviour: SmtpBehaviour = {}): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    closeTimeout: 1,
    onAuth: ({ username, password }, _session, callback) =>
      username === smtpUser.user && password === smtpUser.password
        ? callback(null, { user: username })
        : callback(refusal(535)),
    onMailFrom: (_address, _session, callback) =>
      callback(refusal(behaviour.refuseSender?.() ?? null)),
    onRcptTo: ({ address }, _session, callback) =>
      callback(refusal(behaviour.refuseRecipient?.(address) ?? null)),
    async onData(stream, { envelope, secure, user }, callback) {
      const bytes = await buffer(stream).catch(() => null);
      // Whoever hung up in the middle is told nothing.
      if (bytes === null) return;
      const { headers, text } = parse(String(bytes));
      const from = envelope.mailFrom ? envelope.mailFrom.address : '';
      const to = envelope.rcptTo.map(({ address }) => address);
      mails.push({ from, to, headers, text, secure, user });
      callback(refusal((await behaviour.refuseMessage?.()) ?? null));
    },
    ...behaviour.options,
  });
  server.on('error', () => {});
  server.listen(behaviour.port ?? 0, '127.0.0.1');
  await once(server.server, 'listening');
  let stopped: Promise<void> | undefined;
  const stop = () =>
    (stopped ??= new Promise((resolve) => {
      server.close(resolve);
    }));
  after(stop);
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    env: {
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'Directory <no-reply@example.org>',
    },
    mails,
    async received(count) {
      await eventually(async () => mails.length >= count);
      return mails;
    },
    mailTo: (address, words) =>
      eventually(
        async () => mails.find(({ to, text }) => to[0] === address && words.test(text))?.text,
      ),
    connections: () => server.connections.size,
    stop,
  };
}

function refusal(code: number | null): Error | null {
  return code === null
    ? null
    : Object.assign(new Error('refused by the test'), { responseCode: code });
}

function parse(raw: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
  const body = raw.slice(end + 4);
  const encoding = headers.get('content-transfer-encoding');
  const text = encoding === 'quoted-printable' ? decodeQuotedPrintable(body) : body;
  return { headers, text: text.replaceAll('\r\n', '\n') };
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, 'latin1').toString();
}
