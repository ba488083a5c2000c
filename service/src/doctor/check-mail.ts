import type { Config } from '../config.ts';
import { checkMailServer, type MailError } from '../mail.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

const answerWithinMs = 8_000;

const advice: Partial<Record<MailError, string>> = {
  auth: 'check user and password in SMTP_URL; percent-encode what is special in them',
  connect: 'check host and port in SMTP_URL, and whether a firewall is between',
  dns: 'check the host in SMTP_URL',
  tls: 'check that the port fits: smtps: is TLS from the first byte, mostly port 465; smtp: begins without, mostly 587, and a server on another machine must offer STARTTLS and a valid certificate',
  timeout: 'check host and port in SMTP_URL, and whether a firewall is between',
};

/** Connects, says hello and signs in. No mail is sent. */
export async function checkMail(
  { mail }: Pick<Config, 'mail'>,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('SMTP_URL') || faulty.has('MAIL_FROM'))
    return [skipped('mail', 'not looked at: the configuration is wrong')];
  if (!mail) return [skipped('mail', 'not configured: owners are told by record only')];
  const server = `${mail.host}:${mail.port}`;
  const fault = await checkMailServer(mail, { timeoutMs: answerWithinMs });
  if (!fault)
    return [ok('mail', `${server} takes mail${mail.credentials ? ' from us, signed in' : ''}`)];
  const code = fault.statusCode === null ? '' : `, status ${fault.statusCode}`;
  return [
    failed(
      'mail',
      `${server} cannot be used (${fault.error}${code})`,
      advice[fault.error] ?? 'see the log of the mail server',
    ),
  ];
}
