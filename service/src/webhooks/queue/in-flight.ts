/**
 * How many attempts are under way in this process, by webhook and in all. A slow receiver keeps no more than its share,
 * and all slow ones together no more than theirs.
 */

/** Tests included: docs/reference/errors-and-limits.md#webhooks-and-deliveries */
export const inFlightPerWebhookMax = 8;
/** Attempts that wait for their receivers in this process: a socket and some tens of kilobytes each. */
const inFlightMax = 1024;
/** With those that have their answer and wait to be recorded. */
const heldMax = 2048;
/** Attempts for webhooks whose last one failed, which is how a dead one shows: half. */
const inFlightFailingMax = 512;
/** The last quarter is for webhooks that have nothing under way: a few that are slow cannot fill the process. */
const inFlightCrowded = 768;
/**
 * Of attempts that have only just begun. Receivers that answer at once need no more to keep a process busy; beyond it
 * each only waits longer for its turn on the processor, and holds its memory meanwhile.
 */
const freshMax = 768;
/** Where these are what fills the process, so many must end before more are claimed: few at a time cost as much as many. */
const freshRoomMin = 256;
/** After this an attempt is known to wait for its receiver, and not for us. */
const freshMs = 100;

type Fresh = { agesAt: number; isFresh: boolean };

export type Place = {
  /** The attempt has its answer: its receiver can take another. What is left is to record it. */
  answered(): void;
  /** Once, at the end. */
  release(): void;
};

export type InFlight = {
  total(): number;
  /** What may still be taken: in all, of webhooks whose last attempt failed, and how many of one webhook. */
  room(): { total: number; failing: number; perWebhook: number };
  /** A place for an attempt that was claimed with room for it. */
  add(webhookId: string, failing: boolean): Place;
  /** Null where the webhook has its share under way. */
  take(webhookId: string): Place | null;
  counts(): ReadonlyMap<string, number>;
  /** Who is called when there is more room than there was. */
  onRoom(listener: () => void): void;
};

export function createInFlight(): InFlight {
  const counts = new Map<string, number>();
  let held = 0;
  let unanswered = 0;
  let totalFailing = 0;
  let fresh = 0;
  const begun: Fresh[] = [];
  let ageing: NodeJS.Timeout | undefined;
  let moreRoom = () => {};

  function add(webhookId: string, failing: boolean): Place {
    counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    held += 1;
    unanswered += 1;
    if (failing) totalFailing += 1;
    const endsFresh = addFresh();
    let isAnswered = false;
    function answered(): void {
      if (isAnswered) return;
      isAnswered = true;
      endsFresh();
      unanswered -= 1;
      const left = (counts.get(webhookId) ?? 0) - 1;
      if (left > 0) counts.set(webhookId, left);
      else counts.delete(webhookId);
      moreRoom();
    }
    return {
      answered,
      release() {
        answered();
        held -= 1;
        if (failing) totalFailing -= 1;
        if (failing || held === heldMax - 1) moreRoom();
      },
    };
  }

  /** Returns what ends it before its time. */
  function addFresh(): () => void {
    const one = { agesAt: performance.now() + freshMs, isFresh: true };
    fresh += 1;
    begun.push(one);
    ageing ??= setTimeout(ageAll, freshMs);
    return () => void endFresh(one);
  }

  /** Whether it was fresh still. */
  function endFresh(one: Fresh): boolean {
    if (!one.isFresh) return false;
    one.isFresh = false;
    fresh -= 1;
    return true;
  }

  /** One timer for all: they age in the order in which they began. */
  function ageAll(): void {
    const now = performance.now();
    const next = begun.findIndex(({ agesAt, isFresh }) => isFresh && agesAt > now);
    const past = begun.splice(0, next < 0 ? begun.length : next);
    const [first] = begun;
    ageing = first && setTimeout(ageAll, Math.ceil(first.agesAt - now));
    if (past.filter(endFresh).length > 0) moreRoom();
  }

  function roomInAll(): number {
    if (freshMax - fresh < freshRoomMin) return 0;
    return Math.max(Math.min(inFlightMax - unanswered, heldMax - held, freshMax - fresh), 0);
  }

  return {
    total: () => held,
    room: () => ({
      total: roomInAll(),
      failing: Math.max(inFlightFailingMax - totalFailing, 0),
      perWebhook: unanswered < inFlightCrowded ? inFlightPerWebhookMax : 1,
    }),
    counts: () => counts,
    add,
    onRoom: (listener) => void (moreRoom = listener),
    take: (webhookId) =>
      (counts.get(webhookId) ?? 0) < inFlightPerWebhookMax ? add(webhookId, false) : null,
  };
}
