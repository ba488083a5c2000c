/** Time and chance as a process has them for itself; when a delivery is due the database decides (`queue_now()`). */
export type Clock = {
  now(): Date;
  /** In [0, 1). */
  random(): number;
};

export const systemClock: Clock = { now: () => new Date(), random: () => Math.random() };
