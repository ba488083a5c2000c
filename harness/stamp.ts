/** The time of publishing in the data of an event, from which receivers measure its latency. */

/** Fractional milliseconds since 1970, comparable between processes on one machine. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

export function readStamp(body: Buffer): number | null {
  const text = /"at-([\d.]+)-"/.exec(body.toString('latin1'))?.[1];
  return text === undefined ? null : Number(text);
}
