/** The size of a storm: short in CI, full with FAULTS_FULL=1. */
export function sized(short: number, full: number): number {
  return process.env['FAULTS_FULL'] === '1' ? full : short;
}
