/**
 * The process's own time and randomness, as arguments for tests. The database decides when a delivery is due
 * (`queue_now()`).
 */
export type Clock = {
  now(): Date;
  /** In [0, 1). */
  random(): number;
};

export const systemClock: Clock = { now: () => new Date(), random: () => Math.random() };
