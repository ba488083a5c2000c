/** Renders the mail to an owner or developer. Pure; shows only the host of a URL. */
import { quoteName } from '../../contract/texts.ts';
import type { Attempt } from '../../contract/webhook.ts';
import { recoverDaysMax } from '../../contract/periods.ts';
import {
  describeHealth,
  errorCauseLabels,
  errorLabels,
  healthLabels,
} from '../../contract/webhook-in-words.ts';
import type { ClaimedMail } from './mail-queue.ts';

export type FailureMail = ClaimedMail & {
  /** What is known of the error. */
  errorCause: Attempt['errorCause'];
};
export type MailContext = { serviceName: string; publicUrl: string; deactivateAfter: number };

export type MailText = { subject: string; text: string };

/** As far as a replay reaches back, less a day to read the mail. */
const replayableMs = (recoverDaysMax - 1) * 86_400_000;

export function renderMail(mail: FailureMail, context: MailContext): MailText {
  const isActiveAgain = mail.active && needsActivation(mail);
  const paragraphs = [
    openings[mail.kind](mail, context),
    facts(mail),
    repeated(mail),
    isActiveAgain ? 'It has been activated again since.' : '',
    replaySteps(mail, context),
    readingSteps(mail, context),
    `${context.serviceName} at ${context.publicUrl} sends this mail to the owners and developers of the app. To get no more of them, turn failure mails off at ${context.publicUrl}/profile/developer/apps/${mail.appId}. Replies are not read.`,
  ];
  return {
    subject: `${context.serviceName}: webhook to ${mail.host} ${subjects[mail.kind]}`,
    text: `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`,
  };
}

const subjects: Record<ClaimedMail['kind'], string> = {
  'webhook.failing': 'is failing',
  'webhook.deactivated': 'was deactivated',
  'webhook.healed': 'is active again',
  'webhook.not_healed': 'stays deactivated',
};

const openings: Record<ClaimedMail['kind'], (mail: ClaimedMail, context: MailContext) => string> = {
  'webhook.failing': failing,
  'webhook.deactivated': deactivated,
  'webhook.healed': ({ appName, host }) =>
    `The webhook of your app ${quoteName(appName)} at ${host} responds again and was activated. It gets new events.`,
  'webhook.not_healed': ({ appName, host }) =>
    `The webhook of your app ${quoteName(appName)} at ${host} did not respond to any series of probes. It stays deactivated, and is not probed any more.`,
};

function needsActivation({ kind }: ClaimedMail): boolean {
  return kind === 'webhook.deactivated' || kind === 'webhook.not_healed';
}

function failing({ appName, host }: ClaimedMail, { deactivateAfter }: MailContext): string {
  return `A delivery to the webhook of your app ${quoteName(appName)} at ${host} has failed after all attempts.
Other deliveries continue. ${deactivateAfter} failed deliveries in a row deactivate the webhook.`;
}

function deactivated(mail: ClaimedMail): string {
  const { appName, host, reason, exhaustedInARow, cancelled } = mail;
  const isProbed = reason === 'failing' && mail.selfHealing;
  const cause =
    reason === 'gone'
      ? mail.statusCode === 404
        ? 'its chat channel, or the webhook of that channel, does not exist any more'
        : 'its receiver responded to a delivery with 410 Gone'
      : `${count(exhaustedInARow, 'delivery', 'deliveries')} in a row failed after all attempts`;
  return `The webhook of your app ${quoteName(appName)} at ${host} was deactivated, because ${cause}.
${cancelled === null ? 'Its pending deliveries are' : count(cancelled, 'pending delivery was', 'pending deliveries were')} cancelled. It receives no events while it is deactivated.${isProbed ? ' The service probes it, and activates it when it responds again.' : ''}`;
}

function facts(mail: FailureMail): string {
  return [
    `Webhook:       ${mail.webhookId}`,
    `When:          ${mail.createdAt.toISOString()}`,
    `Last success:  ${mail.lastSuccessAt?.toISOString() ?? 'never'}`,
    `Last response: ${lastResponse(mail)}`,
    `Health now:    ${healthNow(mail)}`,
  ].join('\n');
}

function healthNow({ now }: ClaimedMail): string {
  const reason = describeHealth(now);
  return `${healthLabels[now.health]}${reason === null ? '' : `: ${reason}`}`;
}

function lastResponse({ statusCode, error, errorCause }: FailureMail): string {
  const status = statusCode === null ? 'none' : `HTTP status ${statusCode}`;
  if (error === null) return status;
  const known = errorCause === null ? undefined : errorCauseLabels[errorCause];
  return `${status} (${known ?? errorLabels[error]})`;
}

const changes: Record<ClaimedMail['kind'], string> = {
  'webhook.failing': 'started to fail',
  'webhook.deactivated': 'was deactivated',
  'webhook.healed': 'was activated',
  'webhook.not_healed': 'stayed deactivated',
};

function repeated({ kind, repeats }: ClaimedMail): string {
  if (repeats === 0) return '';
  return `It ${changes[kind]} ${count(repeats, 'more time', 'more times')} before without a mail, because at most one is sent per hour.`;
}

function replaySteps(mail: ClaimedMail, { publicUrl }: MailContext): string {
  if (mail.kind === 'webhook.healed' && mail.replayAfterHealing)
    return 'The service replays what it missed.';
  const webhook = addressOf(mail, publicUrl);
  const since = replaySince(mail).toISOString();
  const replay = `${curl('POST', `${webhook}/replay`, { since })}

KEY is an API key of the app with the scope write:webhooks.`;
  if (!needsActivation(mail))
    return `${mail.kind === 'webhook.healed' ? 'To' : 'Once the receiver works,'} replay what it missed:

${replay}`;
  return `Once the receiver works, activate the webhook:

${curl('PATCH', webhook, { active: true })}

Then replay what it missed:

${replay}`;
}

function readingSteps({ appId, webhookId }: ClaimedMail, { publicUrl }: MailContext): string {
  return `To see the requests and responses in the developer portal:

  ${publicUrl}/profile/developer/apps/${appId}/webhooks/${webhookId}/deliveries?status=undelivered`;
}

function addressOf({ webhookId }: ClaimedMail, publicUrl: string): string {
  return `${publicUrl}/api/v1/webhooks/${webhookId}`;
}

/** A success is dated when it is recorded, and failures of the same batch just before it. */
const recordingSlackMs = 60_000;

/** Every failure since the last success belongs to this. */
function replaySince({ lastSuccessAt, webhookCreatedAt, createdAt }: ClaimedMail): Date {
  const from = lastSuccessAt
    ? lastSuccessAt.getTime() - recordingSlackMs
    : webhookCreatedAt.getTime();
  return new Date(Math.max(from, createdAt.getTime() - replayableMs));
}

function curl(method: string, url: string, body?: object): string {
  const head = `  curl -X ${method} "${url}" -H "Authorization: Bearer $KEY"`;
  if (!body) return head;
  return `${head} \\\n    -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
