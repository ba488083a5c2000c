/**
 * How many attempts are under way in this process, by webhook and in all. A slow receiver keeps no more than its share,
 * and all slow ones together no more than theirs.
 */

/** SPEC 7, tests included. */
export const inFlightPerWebhookMax = 8;
/** Attempts under way at once in this process: a socket and some tens of kilobytes each. */
const inFlightMax = 1024;
/** Of these for webhooks whose last attempt failed, which is how a dead one shows: half. */
const inFlightFailingMax = 512;
/** The last quarter is for webhooks that have nothing under way: a few that are slow cannot fill the process. */
const inFlightCrowded = 768;
/**
 * Of attempts that have only just begun. Receivers that answer at once need no more to keep a process busy; beyond it
 * each only waits longer for its turn on the processor, and holds its memory meanwhile.
 */
const freshMax = 384;
/** After this an attempt is known to wait for its receiver, and not for us. */
const freshMs = 100;

type Place = {
  /** The attempt has its answer; what is left is to record it. */
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
  let total = 0;
  let totalFailing = 0;
  let fresh = 0;
  let moreRoom = () => {};

  function add(webhookId: string, failing: boolean): Place {
    counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    total += 1;
    if (failing) totalFailing += 1;
    const answered = addFresh();
    return {
      answered,
      release() {
        answered();
        const left = (counts.get(webhookId) ?? 0) - 1;
        if (left > 0) counts.set(webhookId, left);
        else counts.delete(webhookId);
        total -= 1;
        if (failing) totalFailing -= 1;
        moreRoom();
      },
    };
  }

  /** Returns what ends it before its time. */
  function addFresh(): () => void {
    fresh += 1;
    let isFresh = true;
    const end = () => {
      if (!isFresh) return;
      isFresh = false;
      clearTimeout(timer);
      fresh -= 1;
      moreRoom();
    };
    const timer = setTimeout(end, freshMs);
    return end;
  }

  return {
    total: () => total,
    room: () => ({
      total: Math.max(Math.min(inFlightMax - total, freshMax - fresh), 0),
      failing: Math.max(inFlightFailingMax - totalFailing, 0),
      perWebhook: total < inFlightCrowded ? inFlightPerWebhookMax : 1,
    }),
    counts: () => counts,
    add,
    onRoom: (listener) => void (moreRoom = listener),
    take: (webhookId) =>
      (counts.get(webhookId) ?? 0) < inFlightPerWebhookMax ? add(webhookId, false) : null,
  };
}
