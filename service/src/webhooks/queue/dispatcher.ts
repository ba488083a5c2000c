/**
 * Claims due deliveries while there is room, sends them, and passes their outcomes to the recorder. Holds no SQL: see
 * `claim.ts` and `recorder.ts`.
 */
import type { Config } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import { sizeHeapForLoad } from './heap-under-load.ts';
import { claim, claimMax, failingEvery, roundStart, type Claim } from './claim.ts';
import { createRecorder } from './recorder.ts';
import { createStarter, type StarterDependencies } from './start-attempts.ts';

export type DispatcherDependencies = StarterDependencies & {
  database: Database;
  webhooks: Config['webhooks'];
};

export type Dispatcher = {
  /** Returns the number of milliseconds after which to call it again at the latest. */
  claimAll(): Promise<number>;
  /** Deliveries from a claim that is under way are still sent. */
  stopClaiming(): void;
  /** Call when no `claimAll` is under way. Resolves when every claimed delivery has ended and is recorded. */
  stop(): Promise<void>;
};

/** How long work may wait if its notification is lost. */
export const pollMs = 1_000;
/** The pause between two walks over webhooks. A walk takes a few milliseconds, and every ended attempt requests one. */
const walkPauseMs = 25;
/** The pause while claims by time fill the process. The walk is then only for deliveries that older ones hide. */
const walkPauseWhileFullMs = 250;
/** A claim of this size means real load: from then on, speed matters more than memory. */
const busyFrom = 64;
export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { database, inFlight, webhooks, log, metrics } = dependencies;
  const recorder = createRecorder({
    ...dependencies,
    deactivateAfter: webhooks.deactivateAfter,
    giveUpAfterMs: webhooks.leaseMarginMs,
  });
  const starter = createStarter(dependencies, recorder);
  let claiming = true;
  /** The cursor of the next claim by webhook, so that every webhook gets its turn. */
  let nextWebhook = roundStart;
  let nextWalkAt = 0;
  let phase = 0;

  async function claimAll(): Promise<number> {
    while (claiming && inFlight.room().total > 0) {
      const room = Math.min(inFlight.room().total, claimMax);
      const claimed = await claimBatch(null);
      const found = claimed.deliveries.length + claimed.cancelled;
      if (claimed.complete && found < claimMax) return waitMsOf(claimed.nextDueMs);
      // Deliveries of webhooks that have used up their share may fill the view, so look for others webhook by webhook.
      const pauseMs = found < room / 2 ? walkPauseMs : walkPauseWhileFullMs;
      const walked = claimed.complete ? 0 : await walk(found, pauseMs);
      if (found + walked === 0) return Math.ceil(Math.max(nextWalkAt - performance.now(), 1));
    }
    return pollMs;
  }

  /** Returns how many deliveries it found. If claims by time find some too, it pauses between walks. */
  async function walk(foundByTime: number, pauseMs: number): Promise<number> {
    if (!claiming || performance.now() < nextWalkAt || inFlight.room().total === 0) return 0;
    const { deliveries, cancelled, nextCursor } = await claimBatch(nextWebhook);
    nextWebhook = nextCursor ?? roundStart;
    const found = deliveries.length + cancelled;
    if (found === 0 || foundByTime > 0) nextWalkAt = performance.now() + pauseMs;
    return found;
  }

  async function claimBatch(cursor: string | null): Promise<Claim> {
    const claimed = await claim(database, {
      room: inFlight.room(),
      inFlight: inFlight.counts(),
      leaseMs: leaseMs(webhooks),
      cursor,
      phase,
    });
    const { deliveries, cancelled } = claimed;
    phase = (phase + deliveries.length) % failingEvery;
    const [first] = deliveries;
    if (first) {
      recorder.expect(first.leaseToken, deliveries.length);
      if (deliveries.length >= busyFrom) sizeHeapForLoad();
      metrics.claimed(deliveries.length);
      starter.start(deliveries);
    }
    if (cancelled > 0) {
      metrics.cancelled(cancelled);
      log.info({ count: cancelled }, 'deliveries.cancelled');
    }
    return claimed;
  }

  return {
    claimAll,
    stopClaiming: () => void (claiming = false),
    async stop() {
      claiming = false;
      await recorder.stop(starter.allEnded());
    },
  };
}

/** The lease lasts for an attempt's whole deadline plus the time to record it. */
export function leaseMs({
  timeoutMs,
  leaseMarginMs,
}: Pick<Config['webhooks'], 'timeoutMs' | 'leaseMarginMs'>): number {
  return timeoutMs + leaseMarginMs;
}

function waitMsOf(nextDueMs: number | null): number {
  return Math.min(Math.max(Math.ceil(nextDueMs ?? pollMs), 0), pollMs);
}
