/** Fan-out, claims and records of two workers, called directly so that other steps can happen in between. */
import { randomUUID } from 'node:crypto';
import {
  claimParked,
  listParked,
  parkDue,
  parkMax,
} from '../../src/webhooks/queue/dispatch/claim.ts';
import { maskUrl, urlOwner } from '../../src/webhooks/sending/chat-platforms.ts';
import { fanOut } from '../../src/webhooks/queue/fan-out/fan-out.ts';
import type { LeaseRoom } from '../../src/webhooks/queue/dispatch/room.ts';
import { loadDeliveries } from '../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { recordAttempts } from '../../src/webhooks/queue/record/record.ts';
import { systemClock } from '../../src/webhooks/sending/clock.ts';
import { unsent, type RecordedAttempt } from '../../src/webhooks/sending/deliver.ts';
import type { Deliverable, LeasedDelivery } from '../../src/webhooks/sending/deliverable.ts';
import { cycleOf, decideVerdict } from '../../src/webhooks/sending/retry.ts';
import {
  addOwnHeaders,
  headersOwner,
  parseOwnHeaders,
} from '../../src/webhooks/sending/own-headers.ts';
import { renderBody } from '../../src/webhooks/sending/sign.ts';
import type { Answer } from './commands.ts';
import { leaseMs, perWebhookMax } from './model-claim.ts';
import { backoff } from './model-queue.ts';
import type { Handed, Observation, RecordedAnswer } from './observation.ts';
import type { Stage, StageWorker } from './stage.ts';

type Busy = Map<string, number>;

const firstId = '00000000-0000-0000-0000-000000000000';

export async function fanOutSome(
  stage: Stage,
  at: number,
  room: number,
): Promise<Partial<Observation>> {
  const worker = workerAt(stage, at);
  const busy = countBusy(worker);
  const done = await fanOut(stage.database, {
    lease: { token: randomUUID(), ms: leaseMs },
    room: toRoom(room, busy),
    floor: worker.outboxFloor,
    minAgeMs: 0,
    deliveriesPerEvent: 1,
  });
  if (done.floor !== null) worker.outboxFloor = done.floor;
  const handed = hand(stage, worker, done.leased);
  return { fannedOut: { events: done.events, handed, room, busy, busyElsewhere: done.busy } };
}

/** Claims as the dispatcher does: what is due until nothing is left, then what is parked. */
export async function claimSome(
  stage: Stage,
  at: number,
  room: number,
): Promise<Partial<Observation>> {
  const worker = workerAt(stage, at);
  const busy = countBusy(worker);
  const taken: LeasedDelivery[] = [];
  const taking = new Map(busy);
  const take = (leased: LeasedDelivery[]) => {
    taken.push(...leased);
    for (const { webhookId } of leased) taking.set(webhookId, (taking.get(webhookId) ?? 0) + 1);
  };
  const lease = { token: randomUUID(), ms: leaseMs };
  for (;;) {
    const found = await parkDue(stage.database, worker.dueSince);
    if (found.count >= parkMax) continue;
    worker.dueSince = found.at;
    break;
  }
  for (const webhookId of await listParked(stage.database, firstId)) {
    const left = Math.min(room - taken.length, perWebhookMax - (taking.get(webhookId) ?? 0));
    if (left <= 0) continue;
    const { leased } = await claimParked(stage.database, lease, new Map([[webhookId, left]]));
    take(leased);
  }
  const { deliverable, refused } = await loadDeliveries(stage.database, taken);
  const cancellations = refused.map(({ delivery, cancelledBy: by }) =>
    unsent(delivery, { kind: 'cancelled', by }, systemClock),
  );
  if (cancellations.length > 0) await recordAttempts(stage.database, cancellations);
  return {
    claim: { handed: hand(stage, worker, deliverable), cancelled: refused.length, room, busy },
  };
}

/** Records the oldest leases of a worker; the others stay in progress. */
export async function recordSome(
  stage: Stage,
  at: number,
  answers: Answer[],
): Promise<Partial<Observation>> {
  const batch = workerAt(stage, at).handed.splice(0, answers.length);
  const attempts = batch.map((handed, index) => attempt(handed, answers[index] as Answer));
  if (attempts.length > 0) await recordAttempts(stage.database, attempts);
  return {
    recorded: attempts.map(({ delivery, verdict, statusCode }) => ({
      id: delivery.id,
      leaseToken: delivery.leaseToken,
      number: delivery.number,
      verdict: verdict as RecordedAnswer['verdict'],
      statusCode,
    })),
  };
}

const workerAt = (stage: Stage, at: number) => stage.workers[at % 2] as StageWorker;

function countBusy({ handed }: StageWorker): Busy {
  const busy: Busy = new Map();
  for (const { webhookId } of handed) busy.set(webhookId, (busy.get(webhookId) ?? 0) + 1);
  return busy;
}

/** A webhook that has something in flight gets no more at fan-out. */
function toRoom(total: number, busy: Busy): LeaseRoom {
  return {
    total,
    unknown: total,
    perWebhook: perWebhookMax,
    atFirst: perWebhookMax,
    place: 0,
    workers: 1,
    full: [...busy.keys()],
  };
}

function hand({ secretBox }: Stage, worker: StageWorker, deliveries: Deliverable[]): Handed[] {
  const handed = deliveries.map((delivery) => {
    const { id, webhookId, event, eventCreatedAt: createdAt, data, ownHeaders, chat } = delivery;
    const url = chat ? secretBox.open(chat.sealedUrl, urlOwner(webhookId)) : delivery.url;
    const own = ownHeaders && parseOwnHeaders(secretBox.open(ownHeaders, headersOwner(webhookId)));
    const headers = JSON.stringify(addOwnHeaders({}, own, url));
    return { ...delivery, url, headers, body: renderBody({ id, event, createdAt, data }) };
  });
  worker.handed.push(...handed);
  return handed;
}

/** With an even chance for the jitter: the model expects exact times. */
function attempt(delivery: Handed, { status, final }: Answer): RecordedAttempt {
  const result = {
    statusCode: status === 'timeout' ? null : status,
    error: status === 'timeout' ? ('timeout' as const) : null,
    retryAfter: status === 503 ? '120' : null,
  };
  const cycle = {
    attempt: delivery.cycleAttempt,
    attemptsMax: final ? delivery.cycleAttempt : cycleOf(delivery).attemptsMax,
  };
  return {
    statusCode: result.statusCode,
    error: result.error,
    // As it was loaded: the URL of a channel is masked.
    delivery: delivery.chat ? { ...delivery, url: maskUrl(delivery.url) } : delivery,
    verdict: decideVerdict(result, cycle, backoff, 0.5, new Date()),
    startedAt: new Date(),
    durationMs: 1,
    errorCause: null,
    responseHeaders: null,
    responseBody: null,
  };
}
