/** The process's time and randomness. Whether a delivery is due is decided by the database (`queue_now()`). */
export type Clock = {
  now(): Date;
  /** In [0, 1). */
  random(): number;
};

export const systemClock: Clock = { now: () => new Date(), random: () => Math.random() };
