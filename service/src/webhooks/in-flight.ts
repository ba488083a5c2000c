/**
 * How many attempts are under way in this process, by webhook and in all. A slow receiver keeps no more than its share,
 * and all slow ones together no more than theirs.
 */

/** SPEC 7, tests included. */
export const inFlightPerWebhookMax = 8;
/** Attempts under way at once in this process: a socket and some tens of kilobytes each. */
export const inFlightMax = 1024;
/** Of these for webhooks whose last attempt failed, which is how a dead one shows: half. */
const inFlightFailingMax = 512;
/** The last quarter is for webhooks that have nothing under way: a few that are slow cannot fill the process. */
const inFlightCrowded = 768;

export type InFlight = {
  total(): number;
  /** What may still be taken: in all, of webhooks whose last attempt failed, and how many of one webhook. */
  room(): { total: number; failing: number; perWebhook: number };
  /** False, and nothing taken, where the webhook has its share under way. */
  take(webhookId: string): boolean;
  /** Takes what was claimed under its share. */
  add(webhookId: string, failing: boolean): void;
  /** Gives back what was taken, with the same words. */
  release(webhookId: string, failing: boolean): void;
  counts(): ReadonlyMap<string, number>;
};

export function createInFlight(): InFlight {
  const counts = new Map<string, number>();
  let total = 0;
  let totalFailing = 0;

  function add(webhookId: string, failing: boolean): void {
    counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    total += 1;
    if (failing) totalFailing += 1;
  }

  return {
    total: () => total,
    room: () => ({
      total: Math.max(inFlightMax - total, 0),
      failing: Math.max(inFlightFailingMax - totalFailing, 0),
      perWebhook: total < inFlightCrowded ? inFlightPerWebhookMax : 1,
    }),
    counts: () => counts,
    add,
    take(webhookId) {
      if ((counts.get(webhookId) ?? 0) >= inFlightPerWebhookMax) return false;
      add(webhookId, false);
      return true;
    },
    release(webhookId, failing) {
      const left = (counts.get(webhookId) ?? 0) - 1;
      if (left > 0) counts.set(webhookId, left);
      else counts.delete(webhookId);
      total -= 1;
      if (failing) totalFailing -= 1;
    },
  };
}
