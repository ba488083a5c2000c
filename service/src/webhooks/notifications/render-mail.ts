/** Renders the mail to an owner. Pure; shows only the host of a URL. */
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
    wayBack(mail, context),
    `${context.serviceName} at ${context.publicUrl} sends this to the owner of the app. Nobody reads an answer to it.`,
  ];
  return {
    subject: `${context.serviceName}: webhook to ${mail.host} ${isDeactivation ? 'was deactivated' : 'is failing'}`,
    text: `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`,
  };
}

function failing({ appName, host }: ClaimedMail, { deactivateAfter }: MailContext): string {
  return `A delivery to the webhook of your app ${quote(appName)} at ${host} failed at every attempt, and is given up.
Deliveries go on. ${deactivateAfter} given up in a row, without a success between, deactivate the webhook.`;
}

function deactivated({ appName, host, reason, exhaustedInARow, cancelled }: ClaimedMail): string {
  const cause =
    reason === 'gone'
      ? 'the last answer of its receiver to a delivery was 410 Gone'
      : `${count(exhaustedInARow, 'delivery', 'deliveries')} in a row failed at every attempt`;
  return `The webhook of your app ${quote(appName)} at ${host} was deactivated, because ${cause}.
${cancelled === null ? 'The deliveries that waited are' : count(cancelled, 'delivery that waited was', 'deliveries that waited were')} cancelled, and it gets no new ones while it is deactivated.`;
}

function facts(mail: ClaimedMail): string {
  return [
    `Webhook:       ${mail.webhookId}`,
    `When:          ${mail.createdAt.toISOString()}`,
    `Last success:  ${mail.lastSuccessAt?.toISOString() ?? 'never'}`,
    `Last answer:   ${lastAnswer(mail)}`,
    `Given up:      ${mail.exhaustedInARow} in a row`,
  ].join('\n');
}

function lastAnswer({ statusCode, error }: ClaimedMail): string {
  const status = statusCode === null ? 'none' : `HTTP status ${statusCode}`;
  return error === null ? status : `${status} (${errors[error] ?? error})`;
}

const errors: Record<string, string> = {
  dns: 'the name of the host was not found',
  connect: 'no connection could be made',
  tls: 'no TLS connection could be made, or its certificate is not valid',
  timeout: 'no complete answer within the deadline',
  blocked: 'the host leads to an address that may not be called',
  reset: 'the connection broke',
};

function repeated({ kind, repeats }: ClaimedMail): string {
  if (repeats === 0) return '';
  const what = kind === 'webhook.deactivated' ? 'was deactivated' : 'began to fail';
  return `It ${what} ${count(repeats, 'more time', 'more times')} before, of which no mail told: there is at most one an hour.`;
}

function wayBack(mail: ClaimedMail, { publicUrl }: MailContext): string {
  const webhook = `${publicUrl}/api/v1/webhooks/${mail.webhookId}`;
  const activate =
    mail.kind === 'webhook.deactivated'
      ? `Once the receiver works, activate the webhook:

${curl('PATCH', webhook, { active: true })}

Then`
      : 'Once the receiver works,';
  return `${activate} have what was given up or cancelled sent again; this reaches back 14 days:

${curl('POST', `${webhook}/recover`, { since: recoverSince(mail).toISOString() })}

KEY is an API key of the app with the scope write:webhooks. What was answered to each attempt:

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
