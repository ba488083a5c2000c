/**
 * Counts the attempts under way in this process, per webhook and in total, and says how many more may start. One slow
 * receiver gets at most its share, and all slow receivers together get at most theirs. Counts only; `claim.ts` and
 * `dispatcher.ts` use the counts.
 */

/** Includes tests: docs/reference/errors-and-limits.md#webhooks-and-deliveries */
export const inFlightPerWebhookMax = 8;
/** Attempts that wait for a response. Each costs a socket and some tens of kilobytes. */
const inFlightMax = 1024;
/** Running attempts plus those that wait to be recorded. */
const heldMax = 2048;
/** Attempts for failing webhooks get at most half, because most dead receivers are among them. */
const inFlightFailingMax = 512;
/** Above this, only webhooks without a running attempt may start one, so that a few slow ones cannot fill the process. */
const inFlightCrowded = 768;
/** Attempts younger than `freshMs`. This many fast ones keep a process busy; more would only wait and hold memory. */
const freshMax = 768;
/** This many must end before the next claim, because a small claim costs as much as a large one. */
const freshRoomMin = 256;
/** An attempt that is older than this waits for its receiver, not for our processor. */
const freshMs = 100;

type Fresh = { agesAt: number; isFresh: boolean };

export type Slot = {
  /** The response has arrived, so the receiver can take another attempt. The attempt still has to be recorded. */
  responded(): void;
  /** Call once, after recording. */
  release(): void;
};

export type InFlight = {
  total(): number;
  /** How many more attempts may start: in total, for webhooks whose last attempt failed, and for one webhook. */
  room(): { total: number; failing: number; perWebhook: number };
  /** Adds an attempt that was claimed with room for it. */
  add(webhookId: string, failing: boolean): Slot;
  /** Adds an attempt, or returns null if the webhook already has its share under way. */
  tryAdd(webhookId: string): Slot | null;
  counts(): ReadonlyMap<string, number>;
  /** Sets the listener that is called when room becomes free. */
  onRoom(listener: () => void): void;
};

export function createInFlight(): InFlight {
  const counts = new Map<string, number>();
  let held = 0;
  let awaitingResponse = 0;
  let totalFailing = 0;
  let moreRoom = () => {};
  const fresh = createFreshness(() => moreRoom());

  function add(webhookId: string, failing: boolean): Slot {
    counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    held += 1;
    awaitingResponse += 1;
    if (failing) totalFailing += 1;
    const endsFresh = fresh.add();
    let hasResponse = false;
    function responded(): void {
      if (hasResponse) return;
      hasResponse = true;
      endsFresh();
      awaitingResponse -= 1;
      const left = (counts.get(webhookId) ?? 0) - 1;
      if (left > 0) counts.set(webhookId, left);
      else counts.delete(webhookId);
      moreRoom();
    }
    return {
      responded,
      release() {
        responded();
        held -= 1;
        if (failing) totalFailing -= 1;
        if (failing || held === heldMax - 1) moreRoom();
      },
    };
  }

  function totalRoom(): number {
    if (freshMax - fresh.count() < freshRoomMin) return 0;
    return Math.max(
      Math.min(inFlightMax - awaitingResponse, heldMax - held, freshMax - fresh.count()),
      0,
    );
  }

  return {
    total: () => held,
    room: () => ({
      total: totalRoom(),
      failing: Math.max(inFlightFailingMax - totalFailing, 0),
      perWebhook: awaitingResponse < inFlightCrowded ? inFlightPerWebhookMax : 1,
    }),
    counts: () => counts,
    add,
    onRoom: (listener) => void (moreRoom = listener),
    tryAdd: (webhookId) =>
      (counts.get(webhookId) ?? 0) < inFlightPerWebhookMax ? add(webhookId, false) : null,
  };
}

/** Counts the attempts that began a moment ago. `onAged` is called when some of them are no longer fresh. */
function createFreshness(onAged: () => void) {
  let fresh = 0;
  const begun: Fresh[] = [];
  let ageing: NodeJS.Timeout | undefined;

  /** Returns a function that ends freshness early. */
  function add(): () => void {
    const one = { agesAt: performance.now() + freshMs, isFresh: true };
    fresh += 1;
    begun.push(one);
    ageing ??= setTimeout(ageAll, freshMs);
    return () => void endFresh(one);
  }

  /** Returns whether the attempt was still fresh. */
  function endFresh(one: Fresh): boolean {
    if (!one.isFresh) return false;
    one.isFresh = false;
    fresh -= 1;
    return true;
  }

  /** One timer serves all attempts, because they age in the order in which they began. */
  function ageAll(): void {
    const now = performance.now();
    const next = begun.findIndex(({ agesAt, isFresh }) => isFresh && agesAt > now);
    const past = begun.splice(0, next < 0 ? begun.length : next);
    const [first] = begun;
    ageing = first && setTimeout(ageAll, Math.ceil(first.agesAt - now));
    if (past.filter(endFresh).length > 0) onAged();
  }

  return { add, count: () => fresh };
}
