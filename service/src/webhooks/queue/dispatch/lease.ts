/** The mark of a process on the deliveries that it leases with one statement. */
export type Lease = {
  /** Unique, so that a late record of an earlier lease of the same delivery writes nothing. */
  token: string;
  /** An attempt's whole deadline, and the time to record it. */
  ms: number;
};
