/** The table of a run: for each trouble and set-up, the medians of each group's latencies before and during the trouble. */
import { align, quantile } from '../../harness/figures.ts';
import { groups, type Latency } from './bystanders.ts';

export type Result = {
  trouble: string;
  setUp: string;
  /** In the order of `groups`. Empty if it was not measured. */
  before: Latency[];
  during: Latency[];
  fault: string | null;
};

/** What a bystander may wait during a trouble: so many times what it waited before, or so long if that is more. */
const timesMax = 2;
const alwaysAllowedMs = 500;

export function summarize(results: Result[]): string {
  const columns = groups.map(({ name, share }) => `${name} p${share * 100}, ms`);
  const rows = inRows(results).map((row) => {
    const { trouble, setUp } = row[0] as Result;
    const fault = row.find((result) => result.fault !== null)?.fault ?? '';
    return [trouble, setUp].concat(
      groups.map((_, group) => formatGroup(row, group)),
      areAllReached(row) ? 'pass' : 'FAIL',
      fault,
    );
  });
  const rule = `${timesMax} x OR ${alwaysAllowedMs} ms`;
  return align([['TROUBLE', 'SET-UP', ...columns, rule], ...rows]).join('\n');
}

export function areAllReached(results: Result[]): boolean {
  return inRows(results).every((row) => groups.every((_, group) => isReached(row, group)));
}

function inRows(results: Result[]): Result[][] {
  return [...Map.groupBy(results, ({ trouble, setUp }) => `${trouble} ${setUp}`).values()];
}

function formatGroup(row: Result[], group: number): string {
  const before = median(row.map((result) => result.before[group]?.quantileMs));
  const during = median(row.map((result) => result.during[group]?.quantileMs));
  return `${format(before)} -> ${format(during)}${isReached(row, group) ? '' : ' NO'}`;
}

/** In the median run, each of which is compared with itself. */
function isReached(row: Result[], group: number): boolean {
  const shares = row.map(({ before, during }) => {
    const allowedMs = Math.max(timesMax * (before[group]?.quantileMs ?? Infinity), alwaysAllowedMs);
    return (during[group]?.quantileMs ?? Infinity) / allowedMs;
  });
  return median(shares) <= 1;
}

function median(values: (number | undefined)[]): number {
  return quantile(
    values.map((value) => value ?? Infinity),
    0.5,
  );
}

function format(ms: number): string {
  return Number.isFinite(ms) ? ms.toFixed(0) : 'never';
}
