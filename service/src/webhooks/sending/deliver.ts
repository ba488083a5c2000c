/** Makes the attempt of one claimed delivery: body, signature, request, verdict. Next: `queue/record/record.ts`. */
import type { Config } from '../../settings/config.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Metrics, OutcomeClass } from '../../runtime/metrics.ts';
import type { AttemptOutcome, Sender } from './attempt.ts';
import type { Clock } from './clock.ts';
import { type ChatAnswer, readAnswer, urlSecrets } from './chat-platforms.ts';
import type { Chat, Deliverable, LeasedDelivery } from './deliverable.ts';
import { hideSecrets } from './hide-secrets.ts';
import { addOwnHeaders, headerSecrets } from './own-headers.ts';
import { renderMessage } from './render-message.ts';
import {
  type SigningKeys,
  noteUnreadable,
  openSecrets,
  openUrl,
  unreadableSince,
} from './signing-keys.ts';
import { type AttemptResult, type Verdict, cycleOf, decideVerdict, waitMaxMs } from './retry.ts';
import { deliveryHeaders, renderBody, requestHeaders } from './sign.ts';
import { traceAttempt } from '../../runtime/tracing.ts';
import { isSuccess } from '../../contract/delivery-rules.ts';
import { urlHost } from './url-host.ts';

export type DeliverDependencies = {
  sender: Sender;
  signingKeys: SigningKeys;
  clock: Clock;
  metrics: Metrics;
  serviceName: string;
  version: string;
  webhooks: Pick<Config['webhooks'], 'retryBaseMs' | 'retryFactor'>;
  log: Logger;
  /** From `createAttemptLog`. */
  attemptLog: Logger;
};

export type RecordedAttempt = Pick<
  AttemptOutcome,
  'durationMs' | 'statusCode' | 'error' | 'errorCause' | 'responseHeaders' | 'responseBody'
> & {
  startedAt: Date;
  /** Where it was sent is not known of one whose process ended. */
  delivery: Omit<LeasedDelivery, 'leaseEndsAt'> & Partial<Pick<Deliverable, 'url' | 'chat'>>;
  verdict: Verdict;
  /** What the response of a chat platform says about the next request. */
  answer?: ChatAnswer;
  /** For how long this process has been unable to read its webhook, in milliseconds. */
  unreadableForMs?: number;
};

/** How long a webhook is left alone whose secret cannot be read. That is not the receiver's fault, so it uses up no attempt. */
export const unreadableWaitMs = 300_000;

/** Makes the attempt and decides what follows. Never throws because of a receiver. */
export async function deliver(
  dependencies: DeliverDependencies,
  delivery: Deliverable,
): Promise<RecordedAttempt> {
  const { sender, clock, metrics, attemptLog } = dependencies;
  const { chat, trigger } = delivery;
  if (chat && isClosed(delivery)) return unsent(delivery, limitedVerdict(delivery, chat), clock);
  const startedAt = clock.now();
  const request = chat
    ? chatRequest(dependencies, delivery, chat)
    : signedRequest(dependencies, delivery, startedAt);
  if (request === null) {
    if (trigger === 'test') throw new Error('a test is sent with a secret that was read');
    return withoutRequest(delivery, clock);
  }
  const span = traceAttempt(delivery);
  if (span && !chat) request.headers['traceparent'] = span.traceparent;
  const received = await sender.attempt(request);
  const outcome = hideSecrets(received, request.secrets);
  const answer = chat && readAnswer(chat.format, received, clock.now());
  const verdict = verdictOf(dependencies, delivery, outcome, answer);
  span?.end({ ...outcome, verdict: verdict.kind });
  const { durationMs } = outcome;
  metrics.attempted({ outcome: outcomeClass(outcome), trigger, durationMs });
  logAttempt(attemptLog, delivery, outcome, verdict.kind);
  const attempt = ended({ delivery, startedAt, verdict }, outcome);
  if (answer) attempt.answer = answer;
  return attempt;
}

/** Whether its platform has to be left alone, as far as was known when it was loaded. */
export function isClosed({ chat }: Pick<Deliverable, 'chat'>): boolean {
  return chat ? chat.gate.openAt > chat.gate.now : false;
}

/** With what nobody may read, should the response repeat it. */
type Request = Parameters<Sender['attempt']>[0] & { secrets: string[] };

/** Null if the secret cannot be read. */
function signedRequest(
  dependencies: DeliverDependencies,
  delivery: Deliverable,
  now: Date,
): Request | null {
  const secrets = openSecrets(dependencies, delivery);
  if (secrets === null) return unreadable(dependencies);
  const { serviceName, version } = dependencies;
  const { id, event, url } = delivery;
  const body = Buffer.from(
    renderBody({ id, event, createdAt: delivery.eventCreatedAt, data: delivery.data }),
  );
  const headers = deliveryHeaders({ serviceName, version, id, event, body, secrets, now });
  const { ownHeaders } = secrets;
  return {
    url,
    headers: addOwnHeaders(headers, ownHeaders, url),
    body,
    secrets: ownHeaders ? headerSecrets(ownHeaders) : [],
  };
}

/** Null if the URL cannot be read, or if another release has newer texts. */
function chatRequest(
  dependencies: DeliverDependencies,
  { webhookId, id, event, eventCreatedAt, data }: Deliverable,
  { format, sealedUrl, template }: Chat,
): Request | null {
  const { serviceName, version, clock, log } = dependencies;
  const url = openUrl(dependencies, webhookId, sealedUrl);
  if (url === null) return unreadable(dependencies);
  const text = renderMessage(format, { event, createdAt: eventCreatedAt, data }, template);
  if (text === null) {
    noteUnreadable(`template ${template}`, clock, () =>
      log.warn({ webhookId, deliveryId: id, template }, 'template.unknown'),
    );
    return null;
  }
  const body = Buffer.from(text);
  const headers = requestHeaders({ serviceName, version, body });
  return { url, headers, body, secrets: urlSecrets(url) };
}

function unreadable({ metrics }: DeliverDependencies): null {
  metrics.unreadable();
  return null;
}

function verdictOf(
  { webhooks, clock }: DeliverDependencies,
  delivery: Deliverable,
  outcome: AttemptOutcome,
  answer: ChatAnswer | null | undefined,
): Verdict {
  if (answer?.limited && delivery.chat && delivery.trigger !== 'test')
    return limitedVerdict(delivery, delivery.chat);
  if (answer?.gone) return { kind: 'failed' };
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  return decideVerdict(outcome, cycleOf(delivery), backoff, clock.random(), clock.now());
}

/**
 * It waits with the others of its webhook until the platform may be called again. What it waited for before, such as a worker
 * that was down, does not count.
 */
function limitedVerdict(
  { createdAtMs }: Deliverable,
  { gate: { now, closedSince } }: Chat,
): Verdict {
  const isOver = now - Math.max(createdAtMs, closedSince ?? now) > waitMaxMs;
  return isOver ? { kind: 'given_up' } : { kind: 'postponed', waitMs: 0, park: true };
}

/** However often processes start: history has to end. */
export const unreadableDaysMax = 7;

function withoutRequest(delivery: Deliverable, clock: Clock): RecordedAttempt {
  const now = clock.now().getTime();
  const sinceMs = unreadableSince(delivery.webhookId);
  if (sinceMs !== undefined) {
    const attempt = unsent(delivery, { kind: 'postponed', waitMs: 0, park: true }, clock);
    return { ...attempt, unreadableForMs: now - sinceMs };
  }
  // Texts that another release has keep back no other delivery of the webhook.
  const isOver = now - delivery.createdAtMs > waitMaxMs;
  const later = { kind: 'postponed', waitMs: unreadableWaitMs, park: false } as const;
  return unsent(delivery, isOver ? { kind: 'given_up' } : later, clock);
}

/** Ends a lease without an attempt. It does not count as one. */
export function unsent(
  delivery: RecordedAttempt['delivery'],
  verdict: Verdict,
  clock: Clock,
): RecordedAttempt {
  return {
    delivery,
    startedAt: clock.now(),
    durationMs: 0,
    statusCode: null,
    error: null,
    errorCause: null,
    responseHeaders: null,
    responseBody: null,
    verdict,
  };
}

function ended(
  attempt: Pick<RecordedAttempt, 'delivery' | 'startedAt' | 'verdict'>,
  { durationMs, statusCode, error, errorCause, responseHeaders, responseBody }: AttemptOutcome,
): RecordedAttempt {
  return { ...attempt, durationMs, statusCode, error, errorCause, responseHeaders, responseBody };
}

/** The class in which metrics count an attempt. A status that is not a valid final status counts as a reset. */
export function outcomeClass(result: Pick<AttemptResult, 'statusCode' | 'error'>): OutcomeClass {
  if (result.error !== null) return result.error;
  if (isSuccess(result)) return 'succeeded';
  switch (Math.floor((result.statusCode ?? 0) / 100)) {
    case 3:
      return '3xx';
    case 4:
      return '4xx';
    case 5:
      return '5xx';
    default:
      return 'reset';
  }
}

/** Without redaction, which takes longer than the rest of the line. */
export function createAttemptLog(log: Logger): Logger {
  return log.child({}, { redact: [] });
}

/** Writes exactly these fields, and none of them is secret. `log` is from `createAttemptLog`. */
function logAttempt(
  log: Logger,
  { id, webhookId, event, trigger, url, number }: Deliverable,
  { statusCode, error, durationMs }: AttemptOutcome,
  verdict: Verdict['kind'],
): void {
  log.info(
    {
      deliveryId: id,
      webhookId,
      event,
      trigger,
      // Only the host: a path or query may contain the owner's token.
      host: urlHost(url),
      attempt: number,
      statusCode,
      error,
      durationMs,
      verdict,
    },
    'delivery.attempted',
  );
}
