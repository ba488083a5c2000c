/** One claimed delivery: body, signature, attempt, verdict. Stores nothing. Next: `record.ts`. */
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import type { AttemptOutcome, Sender } from './attempt.ts';
import type { RecordedAttempt } from './record.ts';
import { attemptsMax, judge } from './retry.ts';
import type { SecretBox } from './secrets.ts';
import { deliveryHeaders, renderBody } from './sign.ts';

export type DeliverDependencies = {
  sender: Sender;
  secretBox: SecretBox;
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
  eventCreatedAt: Date;
  data: string;
};

/** Makes the attempt and says what follows. Never throws for what a receiver does. */
export async function deliver(
  dependencies: DeliverDependencies,
  delivery: Deliverable,
): Promise<RecordedAttempt> {
  const { sender, secretBox, serviceName, version, webhooks, log } = dependencies;
  const { id, event, webhookId } = delivery;
  const body = Buffer.from(
    renderBody({ id, event, createdAt: delivery.eventCreatedAt, data: delivery.data }),
  );
  const secrets = {
    current: secretBox.open(delivery.secret, webhookId),
    previous: delivery.previousSecret && secretBox.open(delivery.previousSecret, webhookId),
  };
  const headers = deliveryHeaders({
    serviceName,
    version,
    id,
    event,
    body,
    secrets,
    now: new Date(),
  });
  const outcome = await sender.attempt({ url: delivery.url, headers, body });
  const cycle = {
    attempt: delivery.cycleAttempt,
    attemptsMax: delivery.trigger === 'test' ? 1 : attemptsMax,
  };
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  const verdict = judge(outcome, cycle, backoff, Math.random(), new Date());
  logAttempt(log, delivery, outcome, verdict.kind);
  return {
    ...outcome,
    deliveryId: id,
    leaseToken: delivery.leaseToken,
    webhookId,
    number: delivery.number,
    trigger: delivery.trigger,
    verdict,
  };
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
