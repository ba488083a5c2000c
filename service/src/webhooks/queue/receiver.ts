/** The limit of one webhook: a receiver may have as many attempts under way as it answers within a second. */

/** Over all processes that deliver, including the tests that they send: docs/reference/errors-and-limits.md#webhooks-and-deliveries */
export const inFlightPerWebhookMax = 8;
/** A webhook about which nothing is known starts with this many, and gains one with each quick response. */
export const limitAtFirst = 2;
/** A receiver that takes longer than this is slow. */
export const slowMs = 1_000;

export type Receiver = {
  id: string;
  owner: string;
  /** Of its last attempt. */
  latencyMs: number;
  /** Its latency allows this many attempts; its share of `inFlightPerWebhookMax` may be less. */
  limit: number;
  inFlight: number;
  /** Leased deliveries that wait for its turn in this process. */
  waiting: number;
  isSlow: boolean;
};

export function limitAt(latencyMs: number): number {
  const limit = Math.floor((inFlightPerWebhookMax * slowMs) / latencyMs);
  return Math.max(Math.min(limit, inFlightPerWebhookMax), 1);
}
