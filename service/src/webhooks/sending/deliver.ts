/** Makes the attempt of one claimed delivery: body, signature, request, verdict. Next: `queue/record/record.ts`. */
import type { Config } from '../../settings/config.ts';
import type { Logger } from '../../runtime/log.ts';
import { logAttempt } from './attempt-log.ts';
import type { Metrics, OutcomeClass } from '../../runtime/metrics.ts';
import type { AttemptOutcome, Sender } from './attempt.ts';
import type { Clock } from './clock.ts';
import type { Deliverable, LeasedDelivery } from './deliverable.ts';
import { type SigningKeys, openSecrets } from './signing-keys.ts';
import { addOwnHeaders, hideValues } from './own-headers.ts';
import { type AttemptResult, type Verdict, cycleOf, decideVerdict } from './retry.ts';
import { deliveryHeaders, renderBody } from './sign.ts';
import { traceAttempt } from '../../runtime/tracing.ts';
import { isSuccess } from '../../contract/delivery-rules.ts';

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
  'durationMs' | 'statusCode' | 'error' | 'responseHeaders' | 'responseBody'
> & {
  startedAt: Date;
  delivery: Omit<LeasedDelivery, 'leaseEndsAt'>;
  verdict: Verdict;
};

/** The wait if a secret cannot be read. That is not the receiver's fault, so it uses up no attempt. */
export const unreadableWaitMs = 300_000;
/** A secret that stays unreadable for longer ends its deliveries, so that they do not wait forever. */
const unreadableMaxMs = 86_400_000;

/** Makes the attempt and decides what follows. Never throws because of a receiver. */
export async function deliver(
  dependencies: DeliverDependencies,
  delivery: Deliverable,
): Promise<RecordedAttempt> {
  const secrets = openSecrets(dependencies, delivery);
  if (secrets === null) {
    if (delivery.trigger === 'test') throw new Error('a test is sent with a secret that was read');
    return giveUpOrPostpone(delivery, dependencies.clock);
  }
  const { sender, serviceName, version, clock, metrics, attemptLog } = dependencies;
  const { id, event, trigger } = delivery;
  const body = Buffer.from(
    renderBody({ id, event, createdAt: delivery.eventCreatedAt, data: delivery.data }),
  );
  const startedAt = clock.now();
  const headers = addOwnHeaders(
    deliveryHeaders({ serviceName, version, id, event, body, secrets, now: startedAt }),
    secrets.ownHeaders,
    delivery.url,
  );
  const span = traceAttempt(delivery);
  if (span) headers['traceparent'] = span.traceparent;
  const response = await sender.attempt({ url: delivery.url, headers, body });
  const outcome = secrets.ownHeaders
    ? {
        ...response,
        responseHeaders: hideValues(response.responseHeaders, secrets.ownHeaders),
        responseBody: hideValues(response.responseBody, secrets.ownHeaders),
      }
    : response;
  const verdict = verdictOf(dependencies, delivery, outcome);
  span?.end({ ...outcome, verdict: verdict.kind });
  const { durationMs } = outcome;
  metrics.attempted({ outcome: outcomeClass(outcome), trigger, durationMs });
  logAttempt(attemptLog, delivery, outcome, verdict.kind);
  return ended({ delivery, startedAt, verdict }, outcome);
}

function verdictOf(
  { webhooks, clock }: DeliverDependencies,
  delivery: Deliverable,
  outcome: AttemptOutcome,
): Verdict {
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  return decideVerdict(outcome, cycleOf(delivery), backoff, clock.random(), clock.now());
}

function giveUpOrPostpone(delivery: Deliverable, clock: Clock): RecordedAttempt {
  const hasWaited = clock.now().getTime() - delivery.createdAtMs > unreadableMaxMs;
  return unsent(
    delivery,
    hasWaited ? { kind: 'given_up' } : { kind: 'postponed', waitMs: unreadableWaitMs, park: false },
    clock,
  );
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
    responseHeaders: null,
    responseBody: null,
    verdict,
  };
}

function ended(
  attempt: Pick<RecordedAttempt, 'delivery' | 'startedAt' | 'verdict'>,
  { durationMs, statusCode, error, responseHeaders, responseBody }: AttemptOutcome,
): RecordedAttempt {
  return { ...attempt, durationMs, statusCode, error, responseHeaders, responseBody };
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
