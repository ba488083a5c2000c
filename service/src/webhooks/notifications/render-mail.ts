/** Renders the mail to an owner or developer. Pure; shows only the host of a URL. */
import type { ClaimedMail } from './mail-queue.ts';

export type MailContext = { serviceName: string; publicUrl: string; deactivateAfter: number };

type MailText = { subject: string; text: string };

/** Recovery reaches back 14 days; this leaves a day to read the mail. */
const recoverableMs = 13 * 86_400_000;

export function renderMail(mail: ClaimedMail, context: MailContext): MailText {
  const isDeactivation = mail.kind === 'webhook.deactivated';
  const paragraphs = [
    isDeactivation ? deactivated(mail) : failing(mail, context),
    facts(mail),
    repeated(mail),
    isDeactivation && mail.active ? 'It has been activated again since.' : '',
    recoverySteps(mail, context),
    `${context.serviceName} at ${context.publicUrl} sends this mail to the owners and developers of the app. To get no more of them, turn failure mails off at ${context.publicUrl}/profile/developer/apps/${mail.appId}. Replies are not read.`,
  ];
  return {
    subject: `${context.serviceName}: webhook to ${mail.host} ${isDeactivation ? 'was deactivated' : 'is failing'}`,
    text: `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`,
  };
}

function failing({ appName, host }: ClaimedMail, { deactivateAfter }: MailContext): string {
  return `A delivery to the webhook of your app ${quote(appName)} at ${host} has failed after all attempts.
Other deliveries continue. ${deactivateAfter} failed deliveries in a row deactivate the webhook.`;
}

function deactivated({ appName, host, reason, exhaustedInARow, cancelled }: ClaimedMail): string {
  const cause =
    reason === 'gone'
      ? 'its receiver responded to a delivery with 410 Gone'
      : `${count(exhaustedInARow, 'delivery', 'deliveries')} in a row failed after all attempts`;
  return `The webhook of your app ${quote(appName)} at ${host} was deactivated, because ${cause}.
${cancelled === null ? 'Its pending deliveries are' : count(cancelled, 'pending delivery was', 'pending deliveries were')} cancelled. It receives no events while it is deactivated.`;
}

function facts(mail: ClaimedMail): string {
  return [
    `Webhook:       ${mail.webhookId}`,
    `When:          ${mail.createdAt.toISOString()}`,
    `Last success:  ${mail.lastSuccessAt?.toISOString() ?? 'never'}`,
    `Last response: ${lastResponse(mail)}`,
    `Failed:        ${mail.exhaustedInARow} in a row`,
  ].join('\n');
}

function lastResponse({ statusCode, error }: ClaimedMail): string {
  const status = statusCode === null ? 'none' : `HTTP status ${statusCode}`;
  return error === null ? status : `${status} (${errors[error] ?? error})`;
}

const errors: Record<string, string> = {
  dns: 'the host name was not found',
  connect: 'the connection failed',
  tls: 'the TLS handshake failed, or the certificate is not valid',
  timeout: 'no complete response before the deadline',
  blocked: 'the address of the host is not allowed',
  reset: 'the connection was closed',
};

function repeated({ kind, repeats }: ClaimedMail): string {
  if (repeats === 0) return '';
  const change = kind === 'webhook.deactivated' ? 'was deactivated' : 'started to fail';
  return `It ${change} ${count(repeats, 'more time', 'more times')} before without a mail, because at most one is sent per hour.`;
}

function recoverySteps(mail: ClaimedMail, { publicUrl }: MailContext): string {
  const webhook = `${publicUrl}/api/v1/webhooks/${mail.webhookId}`;
  const activate =
    mail.kind === 'webhook.deactivated'
      ? `Once the receiver works, activate the webhook:

${curl('PATCH', webhook, { active: true })}

Then`
      : 'Once the receiver works,';
  return `${activate} redeliver the failed and cancelled deliveries of the last 14 days:

${curl('POST', `${webhook}/recover`, { since: recoverSince(mail).toISOString() })}

KEY is an API key of the app with the scope write:webhooks. To see the response to each attempt:

${curl('GET', `${webhook}/deliveries?status=failed`)}`;
}

/** A success is dated when it is recorded, and failures of the same batch just before it. */
const recordingSlackMs = 60_000;

/** Every failure since the last success belongs to this. */
function recoverSince({ lastSuccessAt, webhookCreatedAt, createdAt }: ClaimedMail): Date {
  const from = lastSuccessAt
    ? lastSuccessAt.getTime() - recordingSlackMs
    : webhookCreatedAt.getTime();
  return new Date(Math.max(from, createdAt.getTime() - recoverableMs));
}

function curl(method: string, url: string, body?: object): string {
  const head = `  curl -X ${method} "${url}" -H "Authorization: Bearer $KEY"`;
  if (!body) return head;
  return `${head} \\\n    -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** A name may contain anything, including line ends. */
function quote(name: string): string {
  return JSON.stringify(name.replaceAll(/[\p{C}\p{Z}]+/gu, ' '));
}
