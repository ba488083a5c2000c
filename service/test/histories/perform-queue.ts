/** The claims and records of two workers, called directly so that other steps can happen in between. */
import { attemptsMax } from '../../src/contract/delivery-rules.ts';
import { claim, roundStart } from '../../src/webhooks/queue/claim.ts';
import { recordAttempts } from '../../src/webhooks/queue/record.ts';
import type { RecordedAttempt } from '../../src/webhooks/sending/deliver.ts';
import { decideVerdict } from '../../src/webhooks/sending/retry.ts';
import { renderBody } from '../../src/webhooks/sending/sign.ts';
import type { Answer } from './commands.ts';
import { leaseMs, perWebhookMax } from './model-claim.ts';
import { backoff, deactivateAfter } from './model-queue.ts';
import type { Handed, Observation, RecordedAnswer } from './observation.ts';
import type { Stage } from './stage.ts';

export async function claimSome(
  stage: Stage,
  worker: number,
  room: number,
): Promise<Partial<Observation>> {
  const mine = stage.workers[worker % 2] as Handed[];
  const busy = new Map<string, number>();
  for (const { id } of mine) {
    const webhook = stage.webhookOf.get(id) ?? '';
    busy.set(webhook, (busy.get(webhook) ?? 0) + 1);
  }
  const options = {
    room: { total: room, failing: room, perWebhook: perWebhookMax },
    inFlight: busy,
    leaseMs,
    // One worker claims by time, the other by webhook.
    cursor: worker % 2 === 0 ? null : roundStart,
    phase: worker % 8,
  };
  const { deliveries, cancelled } = await claim(stage.database, options);
  const handed = deliveries.map((one) => {
    stage.webhookOf.set(one.id, one.webhookId);
    const { id, leaseToken, number, cycleAttempt, url, event, data } = one;
    const body = renderBody({ id, event, createdAt: one.eventCreatedAt, data });
    return { id, leaseToken, number, cycleAttempt, url, body };
  });
  mine.push(...handed);
  return { claim: { handed, cancelled, room, busy } };
}

/** Records the oldest claims of a worker; the others stay in progress. */
export async function recordSome(
  stage: Stage,
  worker: number,
  answers: Answer[],
): Promise<Partial<Observation>> {
  const mine = stage.workers[worker % 2] as Handed[];
  const batch = mine.splice(0, answers.length);
  const attempts = batch.map((handed, index) => attempt(stage, handed, answers[index] as Answer));
  if (attempts.length > 0) {
    const endedLeases = tokens(batch).filter((token) => !tokens(mine).includes(token));
    await recordAttempts(stage.database, attempts, { deactivateAfter, endedLeases });
  }
  return {
    recorded: attempts.map(({ deliveryId, leaseToken, verdict, statusCode }) => ({
      id: deliveryId,
      leaseToken,
      verdict: verdict as RecordedAnswer['verdict'],
      statusCode,
    })),
  };
}

const tokens = (handed: Handed[]) => handed.map(({ leaseToken }) => leaseToken);

/** With an even chance for the jitter: what the model expects has no margin. */
function attempt(stage: Stage, handed: Handed, { status, final }: Answer): RecordedAttempt {
  const result = {
    statusCode: status === 'timeout' ? null : status,
    error: status === 'timeout' ? ('timeout' as const) : null,
    retryAfter: status === 503 ? '120' : null,
  };
  const cycle = {
    attempt: handed.cycleAttempt,
    attemptsMax: final ? handed.cycleAttempt : attemptsMax,
  };
  return {
    ...result,
    deliveryId: handed.id,
    leaseToken: handed.leaseToken,
    webhookId: stage.webhookOf.get(handed.id) ?? '',
    number: handed.number,
    cycleAttempt: handed.cycleAttempt,
    trigger: 'event',
    verdict: decideVerdict(result, cycle, backoff, 0.5, new Date()),
    startedAt: new Date(),
    durationMs: 1,
    responseHeaders: null,
    responseBody: null,
  };
}
