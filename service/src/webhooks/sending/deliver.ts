/** Makes the attempt of one claimed delivery: body, signature, request, verdict. Next: `queue/record.ts`. */
import type { Config } from '../../config.ts';
import type { Logger } from '../../log.ts';
import { logAttempt } from './attempt-log.ts';
import type { Metrics } from '../../metrics.ts';
import type { AttemptOutcome, Sender } from './attempt.ts';
import type { Clock } from './clock.ts';
import type { Deliverable } from './deliverable.ts';
import { openSecrets } from './open-secrets.ts';
import { outcomeClass } from './outcome-class.ts';
import { cycleOf, decideVerdict, type Verdict } from './retry.ts';
import type { SigningKeys } from './signing-keys.ts';
import { deliveryHeaders, renderBody } from './sign.ts';

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
  'startedAt' | 'durationMs' | 'statusCode' | 'error' | 'responseHeaders' | 'responseBody'
> & {
  deliveryId: string;
  leaseToken: string;
  webhookId: string;
  /** The number of the attempt over all cycles, and within its cycle; both from 1. */
  number: number;
  cycleAttempt: number;
  trigger: Deliverable['trigger'];
  verdict: Verdict;
};

/** The wait if a secret cannot be read. That is not the receiver's fault, so it uses up no attempt. */
export const unreadableWaitMs = 300_000;

/** Makes the attempt and decides what follows. Never throws because of a receiver. */
export async function deliver(
  dependencies: DeliverDependencies,
  delivery: Deliverable,
): Promise<RecordedAttempt> {
  const secrets = openSecrets(dependencies, delivery);
  if (secrets === null) {
    if (delivery.trigger === 'test') throw new Error('a test is sent with a secret that was read');
    return postpone(delivery, unreadableWaitMs, dependencies.clock);
  }
  const { sender, serviceName, version, clock, metrics, attemptLog } = dependencies;
  const { id, event, trigger } = delivery;
  const body = Buffer.from(
    renderBody({ id, event, createdAt: delivery.eventCreatedAt, data: delivery.data }),
  );
  const headers = deliveryHeaders({
    serviceName,
    version,
    id,
    event,
    body,
    secrets,
    now: clock.now(),
  });
  const outcome = await sender.attempt({ url: delivery.url, headers, body });
  const verdict = verdictOf(dependencies, delivery, outcome);
  const { durationMs } = outcome;
  metrics.attempted({ outcome: outcomeClass(outcome), trigger, durationMs });
  logAttempt(attemptLog, delivery, outcome, verdict.kind);
  return ended(delivery, outcome, verdict);
}

function verdictOf(
  { webhooks, clock }: DeliverDependencies,
  delivery: Deliverable,
  outcome: AttemptOutcome,
): Verdict {
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  return decideVerdict(outcome, cycleOf(delivery), backoff, clock.random(), clock.now());
}

/** Puts a claimed delivery back unsent, to be claimed again. It does not count as an attempt. */
export function postpone(delivery: Deliverable, waitMs: number, clock: Clock): RecordedAttempt {
  const unsent = {
    startedAt: clock.now(),
    durationMs: 0,
    statusCode: null,
    error: null,
    responseHeaders: null,
    responseBody: null,
  };
  return ended(delivery, unsent, { kind: 'postponed', waitMs });
}

/** Copies field by field, because spreading takes as long as everything else here. */
function ended(
  delivery: Deliverable,
  outcome: Omit<AttemptOutcome, 'retryAfter'>,
  verdict: Verdict,
): RecordedAttempt {
  return {
    deliveryId: delivery.id,
    leaseToken: delivery.leaseToken,
    webhookId: delivery.webhookId,
    number: delivery.number,
    cycleAttempt: delivery.cycleAttempt,
    trigger: delivery.trigger,
    startedAt: outcome.startedAt,
    durationMs: outcome.durationMs,
    statusCode: outcome.statusCode,
    error: outcome.error,
    responseHeaders: outcome.responseHeaders,
    responseBody: outcome.responseBody,
    verdict,
  };
}
