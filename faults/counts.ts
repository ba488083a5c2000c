/** Collects the scenarios' counts from their processes and prints them as one table. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Counts = {
  scenario: string;
  faults: number;
  deliveries: number;
  succeeded: number;
  failed: number;
  attempts: number;
  /** Requests that the receivers got. */
  requests: number;
  interrupted: number;
  /** Requests beyond the attempts whose outcome is recorded. */
  doubles: number;
  /** The number of those that were in flight at a fault. */
  inFlight: number;
  seconds: number;
};

export function addCounts(folder: string, counts: Counts): void {
  appendFileSync(fileIn(folder), `${JSON.stringify(counts)}\n`);
}

export function readCounts(folder: string): Counts[] {
  const file = fileIn(folder);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Counts);
}

const columns = [
  'scenario',
  'faults',
  'deliveries',
  'succeeded',
  'failed',
  'attempts',
  'requests',
  'interrupted',
  'doubles',
  'inFlight',
  'seconds',
] as const satisfies (keyof Counts)[];

/** Names to the left, numbers to the right. */
export function table(rows: Counts[]): string[] {
  const cells = [
    columns.map(String),
    ...rows.map((row) => columns.map((name) => String(row[name]))),
  ];
  const widths = columns.map((_, index) =>
    Math.max(...cells.map((row) => row[index]?.length ?? 0)),
  );
  const pad = (cell: string, index: number) =>
    index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0);
  return cells.map((row) => row.map(pad).join('  '));
}

function fileIn(folder: string): string {
  return join(folder, 'counts.ndjson');
}
