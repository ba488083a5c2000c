/** How many attempts are under way for each webhook, in this process: a slow receiver keeps no more than its share. */

/** SPEC 7, tests included. */
export const inFlightPerWebhookMax = 8;

export type InFlight = {
  total(): number;
  /** False, and nothing taken, where the webhook has its share under way. */
  take(webhookId: string): boolean;
  /** Takes even beyond the share: for what was claimed under it. */
  add(webhookId: string): void;
  release(webhookId: string): void;
  counts(): ReadonlyMap<string, number>;
};

export function createInFlight(): InFlight {
  const counts = new Map<string, number>();
  let total = 0;

  function add(webhookId: string): void {
    counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    total += 1;
  }

  return {
    total: () => total,
    counts: () => counts,
    add,
    take(webhookId) {
      if ((counts.get(webhookId) ?? 0) >= inFlightPerWebhookMax) return false;
      add(webhookId);
      return true;
    },
    release(webhookId) {
      const left = (counts.get(webhookId) ?? 0) - 1;
      if (left > 0) counts.set(webhookId, left);
      else counts.delete(webhookId);
      total -= 1;
    },
  };
}
