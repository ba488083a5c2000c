import type { Config } from '../settings/config.ts';
import { checkMailServer, type MailError } from '../runtime/mail.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

const timeoutMs = 8_000;

const advice: Partial<Record<MailError, string>> = {
  auth: 'check user and password in SMTP_URL; percent-encode special characters in them',
  connect: 'check host and port in SMTP_URL, and any firewall between',
  dns: 'check the host in SMTP_URL',
  tls: 'check that the scheme matches the port: smtps: uses TLS from the start, usually on port 465; smtp: uses STARTTLS, usually on port 587, and requires it with a valid certificate from a server on another machine',
  timeout: 'check host and port in SMTP_URL, and any firewall between',
};

/** Connects, greets and signs in. It sends no mail. */
export async function checkMail(
  { mail }: Pick<Config, 'mail'>,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('SMTP_URL') || faulty.has('MAIL_FROM'))
    return [skipped('mail', 'not checked: the configuration is invalid')];
  if (!mail) return [skipped('mail', 'not configured: owners get no mail')];
  const server = `${mail.host}:${mail.port}`;
  const fault = await checkMailServer(mail, { timeoutMs });
  if (!fault)
    return [ok('mail', `${server} accepts mail${mail.credentials ? ' after sign-in' : ''}`)];
  const code = fault.statusCode === null ? '' : `, status ${fault.statusCode}`;
  return [
    failed(
      'mail',
      `${server} cannot be used (${fault.error}${code})`,
      advice[fault.error] ?? 'check the log of the mail server',
    ),
  ];
}
