/** One claimed delivery: body, signature, attempt, verdict. Stores nothing. Next: `record.ts`. */
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import { outcomeClass, type Metrics } from '../metrics.ts';
import type { AttemptOutcome, Sender } from './attempt.ts';
import type { Clock } from './clock.ts';
import type { RecordedAttempt } from './record.ts';
import { attemptsMax, judge, type Verdict } from './retry.ts';
import type { SigningKeys } from './signing-keys.ts';
import { deliveryHeaders, renderBody, type SigningSecrets } from './sign.ts';

export type DeliverDependencies = {
  sender: Sender;
  signingKeys: SigningKeys;
  clock: Clock;
  metrics: Metrics;
  serviceName: string;
  version: string;
  webhooks: Pick<Config['webhooks'], 'retryBaseMs' | 'retryFactor'>;
  log: Logger;
};

/** What an attempt needs to know of its delivery. */
export type Deliverable = {
  id: string;
  leaseToken: string;
  webhookId: string;
  event: string;
  trigger: RecordedAttempt['trigger'];
  /** Of this attempt, over all cycles. */
  number: number;
  /** Of this attempt within its cycle, from 1. */
  cycleAttempt: number;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  /** Whether it waited in the line of webhooks whose last attempt failed. */
  failing: boolean;
  eventCreatedAt: Date;
  data: string;
};

/** A secret that no key of SECRET_KEY opens: the operator's fault, and not the receiver's. It is looked at again after this. */
const unreadableWaitMs = 60_000;

/** Makes the attempt and says what follows. Never throws for what a receiver does. */
export async function deliver(
  dependencies: DeliverDependencies,
  delivery: Deliverable,
): Promise<RecordedAttempt> {
  const secrets = openSecrets(dependencies, delivery);
  if (secrets === null) return postponed(dependencies, delivery);
  const { sender, serviceName, version, clock, metrics, log } = dependencies;
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
  const verdict = judgeAttempt(dependencies, delivery, outcome);
  const { statusCode, error, durationMs } = outcome;
  metrics.attempted({ outcome: outcomeClass(statusCode, error), trigger, durationMs });
  logAttempt(log, delivery, outcome, verdict.kind);
  return { ...outcome, ...identity(delivery), verdict };
}

function judgeAttempt(
  { webhooks, clock }: DeliverDependencies,
  { trigger, cycleAttempt }: Deliverable,
  outcome: AttemptOutcome,
): Verdict {
  const cycle = { attempt: cycleAttempt, attemptsMax: trigger === 'test' ? 1 : attemptsMax };
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  return judge(outcome, cycle, backoff, clock.random(), clock.now());
}

/** Null where SECRET_KEY lacks the key. */
function openSecrets(
  { signingKeys, log }: DeliverDependencies,
  { webhookId, secret, previousSecret }: Deliverable,
): SigningSecrets | null {
  try {
    return {
      current: signingKeys.get(webhookId, secret),
      previous: previousSecret && signingKeys.get(webhookId, previousSecret),
    };
  } catch (error) {
    log.error({ webhookId, reason: (error as Error).message }, 'secret.unreadable');
    return null;
  }
}

/** Nothing was sent, so nothing counts. A test is not put back: nobody would wait for it. */
function postponed({ clock }: DeliverDependencies, delivery: Deliverable): RecordedAttempt {
  if (delivery.trigger === 'test')
    throw new Error('the secret of the webhook cannot be read: SECRET_KEY lacks its key');
  return {
    ...identity(delivery),
    startedAt: clock.now(),
    durationMs: 0,
    statusCode: null,
    error: null,
    responseHeaders: null,
    responseBody: null,
    verdict: { kind: 'postponed', waitMs: unreadableWaitMs },
  };
}

function identity({ id, leaseToken, webhookId, number, trigger }: Deliverable) {
  return { deliveryId: id, leaseToken, webhookId, number, trigger };
}

function logAttempt(
  log: Logger,
  delivery: Deliverable,
  outcome: AttemptOutcome,
  verdict: string,
): void {
  log.info(
    {
      deliveryId: delivery.id,
      webhookId: delivery.webhookId,
      event: delivery.event,
      trigger: delivery.trigger,
      // The host alone: a path or query may hold the owner's token.
      host: new URL(delivery.url).host,
      attempt: delivery.number,
      statusCode: outcome.statusCode,
      error: outcome.error,
      durationMs: outcome.durationMs,
      verdict,
    },
    'delivery.attempted',
  );
}
